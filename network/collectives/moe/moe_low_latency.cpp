// SPDX-License-Identifier: Apache-2.0
// Plan of the low-latency kernels.
#include "network/collectives/moe/moe_low_latency.hpp"

#include <algorithm>
#include <cmath>

#include "network/collectives/moe/moe_reach.hpp"
#include "network/collectives/pace.hpp"

namespace warploom {

namespace {

constexpr std::int64_t warps_of_sm = 32;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// How the kernel spreads over the device.
struct Launch {
  std::int64_t groups = 1;        // experts of an SM
  std::int64_t group_warps = 32;  // of an expert in it
  std::int64_t senders = 1;       // SMs that send
  std::int64_t sms = 1;           // that it takes
};

Launch launch_of(const MoeTraffic& traffic, bool is_dispatch) {
  Launch launch;
  launch.groups = ceil_div(traffic.experts, traffic.device_sms);
  launch.group_warps = std::max<std::int64_t>(warps_of_sm / launch.groups, 1);
  launch.senders = ceil_div(traffic.experts, launch.groups);
  launch.sms = launch.senders;
  if (!is_dispatch && traffic.tokens > 0) {
    const std::int64_t tokens_of_sm = ceil_div(traffic.tokens, traffic.device_sms);
    launch.sms = std::max(launch.senders, ceil_div(traffic.tokens, tokens_of_sm));
  }
  return launch;
}

// Bytes that a link has to carry for those of payload.
Bytes on_wire(double payload, double efficiency) { return Bytes(std::llround(payload / efficiency)); }

Time later_rounds(double rounds, Time each) { return each * std::max(std::ceil(rounds) - 1, 0.0); }

}  // namespace

Plan plan_moe_low_latency(const Setting& setting) {
  const MoeTraffic& traffic = *setting.call.moe;
  const bool is_dispatch = setting.call.kind == CollectiveKind::moe_dispatch;
  const auto& library = setting.library.moe->low_latency;
  const MoeLowLatencySpec& spec = is_dispatch ? library.dispatch : library.combine;
  const auto ranks = static_cast<double>(setting.ranks());
  const Launch launch = launch_of(traffic, is_dispatch);
  const Bytes message = moe_message(traffic, setting.call.kind);
  const auto m = static_cast<double>(message.count());
  const double messages = static_cast<double>(traffic.tokens) * static_cast<double>(traffic.top_k) * traffic.imbalance;
  const double of_expert = messages / static_cast<double>(traffic.experts * launch.group_warps);
  const Time token = spec.token + message / spec.token_rate;
  const double rounds =
      is_dispatch ? static_cast<double>(traffic.tokens) / static_cast<double>(launch.senders) : of_expert;

  Plan plan;
  plan.sms = static_cast<int>(launch.sms);
  plan.hbm_bytes_per_wire_byte = setting.library.copy_hbm_bytes * (ranks - 1);
  const double efficiency = setting.profile.in_node() ? spec.efficiency : spec.network_efficiency;
  PlanStep send;
  send.latency = setting.library.ll.hop * (spec.hops + spec.group_hops * static_cast<double>(launch.groups - 1));
  if (!setting.profile.in_node())
    send.latency += network_step(setting, setting.library.ll) + setting.profile.path_latency;
  PlanStep receive;
  if (messages > 0) {
    send.latency += token;
    if (spec.sm_rate > Bandwidth(0))
      send.latency += message * (messages / static_cast<double>(launch.senders)) / spec.sm_rate;
    const Bytes flow = on_wire(messages * m / ranks, efficiency);
    Bandwidth limit(0);
    if (spec.device_rate > Bandwidth(0)) limit = spec.device_rate / ((ranks - 1) * efficiency);
    if (const Time busy = later_rounds(rounds, token); busy > Time::zero()) {
      const Bandwidth paced = flow / busy;
      limit = limit > Bandwidth(0) ? std::min(limit, paced) : paced;
    }
    send.bundles = {bundle_of(setting, FlowPattern::all_pairs, flow, limit)};
    // A combine writes its sums, too.
    double through = messages * m * spec.memory_passes;
    if (!is_dispatch) through += static_cast<double>(traffic.tokens) * m;
    receive.latency =
        std::max(Time::from_seconds(through / traffic.memory.value()), later_rounds(of_expert, spec.receive_round));
  }
  plan.steps = {std::move(send), std::move(receive)};
  return plan;
}

}  // namespace warploom
