// SPDX-License-Identifier: Apache-2.0
// The cost of memory-bound kernels; the equation is in the header.
#include "hw_models/streaming.hpp"

#include <algorithm>
#include <cmath>

#include "hw_models/kernels/l2_residency.hpp"
#include "hw_models/operating_point.hpp"

namespace warploom {

namespace {

struct Terms {
  double memory = 0;        // seconds that HBM and L2 need
  double instructions = 0;  // seconds that the SMs in use need to issue the loads and stores
  double arithmetic = 0;    // seconds that vector and special function units need
  double unpaced = 0;       // seconds of memory that no instructions limit
  double passes = 0;        // seconds of issue and latency of passes over rows

  double busy() const {
    const double stream = std::max({memory - unpaced, instructions, arithmetic}) + unpaced;
    return passes > 0 ? std::hypot(stream, passes) : stream;
  }
};

// Blocks that an SM holds at a time.
double resident_blocks(const StreamingWork& work, const DeviceSpec& device) {
  const double room = std::max(1, device.sm.threads / work.rows->threads);
  return work.blocks > 0 ? std::min(room, std::ceil(static_cast<double>(work.blocks) / device.sm.count)) : room;
}

// Of what the blocks' later passes read: the share that the caches no longer hold.
double share_read_again(const StreamingWork& work, const DeviceSpec& device) {
  const RowPasses& rows = *work.rows;
  const double resident = resident_blocks(work, device);
  const double in_l1 = resident * static_cast<double>(rows.row.count());
  if (rows.tries_l1 && in_l1 <= static_cast<double>(device.sm.shared_memory.count())) return 0;
  return share_lost_between_passes(device.sm.count * resident * static_cast<double>(rows.held.count()), device);
}

struct MovedBytes {
  double memory = 0;  // bytes from and to device memory
  double l2 = 0;      // bytes found and left in the L2
  double all() const { return memory + l2; }
};

MovedBytes moved_by(const StreamingWork& work, const DeviceSpec& device) {
  const auto written = static_cast<double>(work.written.count());
  const Bytes again = work.rows ? work.rows->read_again * share_read_again(work, device) : Bytes{0};
  MovedBytes moved;
  moved.l2 = static_cast<double>(work.read.count()) * work.share_in_l2 +
             written * work.written_share_in_l2.value_or(work.share_in_l2);
  moved.memory = static_cast<double>((work.bytes() + again).count()) - moved.l2;
  return moved;
}

// Loops that wait for each load, as the memory fills up.
double waiting_seconds(const StreamingWork& work, const DeviceSpec& device, double memory, double sms,
                       Frequency clock) {
  const double latency = work.share_in_l2 * device.l2.latency.value() +
                         (1 - work.share_in_l2) * device.memory.latency.value() +
                         device.architecture.streaming.load_issue.value();
  const double waiting =
      static_cast<double>(work.read.count()) / (sms * work.bytes_in_flight_per_sm) * latency / clock.value();
  const double power = device.architecture.streaming.load_queue;
  return std::pow(std::pow(memory, power) + std::pow(waiting, power), 1 / power);
}

double pass_seconds(const StreamingWork& work, const DeviceSpec& device, Frequency clock) {
  const RowPasses& rows = *work.rows;
  const StreamingConstants& constants = device.architecture.streaming;
  const auto blocks = static_cast<double>(work.blocks);
  const double resident = resident_blocks(work, device);
  const double waves = std::max(1.0, blocks / (device.sm.count * resident));
  const double pass =
      constants.pass_issue * resident * rows.threads + static_cast<double>(rows.steps) * constants.pass_step.value();
  return waves * rows.passes * pass / clock.value();
}

Terms terms_at(const StreamingWork& work, const DeviceSpec& device, double sms, Frequency clock) {
  Terms terms;
  const auto bytes = static_cast<double>(work.bytes().count());
  const MovedBytes moved = moved_by(work, device);
  terms.memory = moved.memory / (work.memory_share * device.reached_bandwidth().value()) +
                 moved.l2 / device.l2_bandwidth_at(clock).value();
  if (work.bytes_in_flight_per_sm > 0) terms.memory = waiting_seconds(work, device, terms.memory, sms, clock);
  const auto paced = static_cast<double>(work.paced.value_or(work.bytes()).count());
  terms.unpaced = bytes > 0 ? terms.memory * (1 - paced / bytes) : 0;
  terms.instructions = paced / (sms * work.bytes_per_cycle_per_sm * clock.value());
  terms.arithmetic =
      std::max(work.vector_flops / (2 * device.sm.vector_lanes), work.exponentials / device.sm.special_function_lanes) /
      (sms * clock.value());
  if (work.rows) terms.passes = pass_seconds(work, device, clock);
  return terms;
}

}  // namespace

KernelCost streaming_cost(const StreamingWork& work, const DeviceSpec& device) {
  const double sms =
      work.blocks > 0 ? std::min<double>(device.sm.count, static_cast<double>(work.blocks)) : device.sm.count;
  const double start = device.architecture.streaming.fixed.seconds();
  const auto latency_at = [&](Frequency clock) {
    return start +
           (device.memory.latency.value() + (work.loads_in_a_row - 1) * device.l2.latency.value()) / clock.value();
  };
  const auto seconds_at = [&](Frequency clock) {
    return latency_at(clock) + terms_at(work, device, sms, clock).busy();
  };
  const auto& energy = device.architecture.energy;
  const MovedBytes moved = moved_by(work, device);
  const Activity activity{energy.vector_flop * work.vector_flops + energy.l2_byte * moved.all(),
                          energy.memory_byte * moved.memory};
  const OperatingPoint point = operating_point(device, activity, seconds_at);
  const Terms terms = terms_at(work, device, sms, point.clock);
  const double busy = terms.busy();

  KernelCost cost =
      cost_at(point, Flops(work.vector_flops), Bytes(std::llround(moved.memory)), Bytes(std::llround(moved.all())));
  // The SMs that keep HBM, or themselves, as busy as it gets.
  cost.sm_share =
      busy > 0 ? std::min(1.0, std::max(terms.instructions, terms.arithmetic) / busy) * sms / device.sm.count : 0;
  cost.bound_by = latency_at(point.clock) > busy                                   ? Bound::latency
                  : terms.passes > terms.memory                                    ? Bound::latency
                  : terms.memory >= std::max(terms.instructions, terms.arithmetic) ? Bound::hbm
                  : terms.arithmetic >= terms.instructions                         ? Bound::vector
                                                                                   : Bound::operand_bandwidth;
  return cost;
}

}  // namespace warploom
