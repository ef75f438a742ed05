// SPDX-License-Identifier: Apache-2.0
// The cost of memory-bound kernels; the equation is in the header.
#include "hw_models/streaming.hpp"

#include <algorithm>

#include "hw_models/operating_point.hpp"

namespace warploom {

namespace {

struct Terms {
  double memory = 0;        // seconds that HBM needs
  double instructions = 0;  // seconds that the SMs in use need to issue the loads and stores
  double arithmetic = 0;    // seconds that vector and special function units need
};

Terms terms_at(const StreamingWork& work, const DeviceSpec& device, double sms, Frequency clock) {
  Terms terms;
  const auto bytes = static_cast<double>(work.bytes().count());
  terms.memory = bytes * ((1 - work.share_in_l2) / device.reached_bandwidth().value() +
                          work.share_in_l2 / device.l2_bandwidth_at(clock).value());
  terms.instructions = bytes / (sms * work.bytes_per_cycle_per_sm * clock.value());
  terms.arithmetic =
      std::max(work.vector_flops / (2 * device.sm.vector_lanes), work.exponentials / device.sm.special_function_lanes) /
      (sms * clock.value());
  return terms;
}

}  // namespace

KernelCost streaming_cost(const StreamingWork& work, const DeviceSpec& device) {
  const double sms =
      work.blocks > 0 ? std::min<double>(device.sm.count, static_cast<double>(work.blocks)) : device.sm.count;
  const double start = device.architecture.streaming.fixed.seconds();
  const auto latency_at = [&](Frequency clock) { return start + device.memory.latency.value() / clock.value(); };
  const auto seconds_at = [&](Frequency clock) {
    const Terms terms = terms_at(work, device, sms, clock);
    return latency_at(clock) + std::max({terms.memory, terms.instructions, terms.arithmetic});
  };
  const auto& energy = device.architecture.energy;
  const auto bytes = static_cast<double>(work.bytes().count());
  const Activity activity{energy.vector_flop * work.vector_flops + energy.l2_byte * bytes, energy.memory_byte * bytes};
  const OperatingPoint point = operating_point(device, activity, seconds_at);
  const Terms terms = terms_at(work, device, sms, point.clock);
  const double busy = std::max({terms.memory, terms.instructions, terms.arithmetic});

  KernelCost cost;
  cost.duration = Time::from_seconds(point.seconds);
  // The SMs that keep HBM, or themselves, as busy as it gets.
  cost.sm_share =
      busy > 0 ? std::min(1.0, std::max(terms.instructions, terms.arithmetic) / busy) * sms / device.sm.count : 0;
  cost.hbm_bytes = work.bytes();
  cost.l2_bytes = work.bytes();
  cost.flops = Flops(work.vector_flops);
  cost.power = point.power;
  cost.bound_by = latency_at(point.clock) > busy ? Bound::latency
                  : terms.memory >= busy         ? Bound::hbm
                  : terms.arithmetic >= busy     ? Bound::vector
                                                 : Bound::operand_bandwidth;
  return cost;
}

}  // namespace warploom
