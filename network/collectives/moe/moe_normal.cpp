// SPDX-License-Identifier: Apache-2.0
// Plan of the normal kernels.
#include "network/collectives/moe/moe_normal.hpp"

#include <algorithm>
#include <cmath>

#include "network/collectives/moe/moe_reach.hpp"
#include "network/collectives/pace.hpp"

namespace warploom {

namespace {

// What both kinds of plans need.
struct Work {
  const Setting& setting;
  const MoeTraffic& traffic;
  const MoeNormalSpec& spec;
  bool is_dispatch = true;
  Bytes message{0};
  MoeReach reach = {};
  double meets = 0;    // chance that a token meets the most loaded rank
  double in_node = 1;  // ranks of a node
  double channels = 1;
  double channel_tokens = 0;

  double bytes() const { return static_cast<double>(traffic.tokens) * static_cast<double>(message.count()); }
  Time hops(double count) const { return setting.library.ll.hop * count; }
  Time crowded(Time time) const { return time * (1 + spec.crowding * (channels - 1)); }
  // Of a token to one rank of the node, by so many warps of a channel.
  Time copy(double warps) const {
    return (hops(spec.copy_hops) + message / spec.warp_rate) / (std::max(warps / in_node, 1.0));
  }
  Time reduce() const {
    const double steps = static_cast<double>(message.count()) / 512;
    return (spec.reduce_step + spec.reduce_read * reach.ranks) * (steps / spec.reduce_warps);
  }
};

Work work_of(const Setting& setting) {
  const MoeTraffic& traffic = *setting.call.moe;
  const bool is_dispatch = setting.call.kind == CollectiveKind::moe_dispatch;
  const auto& library = setting.library.moe->normal;
  Work work{.setting = setting, .traffic = traffic, .spec = is_dispatch ? library.dispatch : library.combine};
  work.is_dispatch = is_dispatch;
  work.message = moe_message(traffic, setting.call.kind);
  work.reach = moe_reach(traffic, setting.ranks(), setting.profile.nodes);
  const double mean = work.reach.ranks / static_cast<double>(setting.ranks());
  work.meets = 1 - std::pow(std::max(1 - mean, 0.0), traffic.imbalance);
  work.in_node = static_cast<double>(setting.ranks()) / static_cast<double>(setting.profile.nodes);
  const std::int64_t pairs = traffic.sms / 2;  // an SM sends, one receives
  work.channels = static_cast<double>(pairs);
  work.channel_tokens = std::ceil(static_cast<double>(traffic.tokens) / work.channels);
  return work;
}

// The first token's way.
Time fill_of(const Work& work) {
  const MoeNormalSpec& spec = work.spec;
  Time fill = work.copy(spec.warps) * (spec.fill_tokens * std::min(1.0, work.channel_tokens * work.meets));
  if (spec.fill_rate > Bandwidth(0))
    fill += work.message / spec.fill_rate * (1 + spec.fill_reads * (work.reach.ranks - 1));
  return fill;
}

Bytes whole(double bytes) { return Bytes(std::llround(bytes)); }

// Flows of these bytes that take no less than `busy`.
Bundle paced(const Setting& setting, FlowPattern pattern, Bytes bytes, Time busy) {
  const Bandwidth limit = busy > Time::zero() && bytes > Bytes(0) ? bytes / busy : Bandwidth(0);
  return bundle_of(setting, pattern, bytes, limit);
}

PlanStep inside_a_node(const Work& work) {
  const MoeNormalSpec& spec = work.spec;
  Time pace = spec.scan + work.hops(spec.scan_hops) + work.copy(spec.warps) * work.meets;
  if (!work.is_dispatch) pace = std::max(pace, work.reduce());
  const Time busy = work.crowded(pace * work.channel_tokens);
  const Bytes flow = whole(work.bytes() * work.meets / spec.efficiency);
  return {Time::zero(), {paced(work.setting, FlowPattern::all_pairs, flow, busy)}};
}

PlanStep between_nodes(const Work& work) {
  const MoeNormalSpec& spec = work.spec;
  const auto& setting = work.setting;
  const auto nodes = static_cast<double>(setting.profile.nodes);
  // Tokens of all nodes' devices on a rail meet a rank of the node.
  const double passed = static_cast<double>(work.traffic.tokens) * nodes * work.meets;
  const Time busy = work.crowded(work.copy(spec.forward_warps) * (passed / work.channels));
  const double card = work.bytes() * work.reach.nodes * (nodes - 1) / nodes / spec.network_efficiency;
  const double port = static_cast<double>(work.message.count()) * passed * (work.in_node - 1) / spec.efficiency;
  const Bandwidth rate = setting.topology.card() * spec.network_efficiency;
  const double chunk = std::min(spec.network_chunk, work.channel_tokens) * work.channels;
  const Time first = Time::from_seconds(static_cast<double>(work.message.count()) * chunk / rate.value());
  PlanStep step{network_step(setting, setting.library.ll) + setting.profile.path_latency + first, {}};
  step.bundles.push_back(paced(setting, FlowPattern::rails, whole(card * work.in_node), busy));
  if (work.in_node > 1) step.bundles.push_back(paced(setting, FlowPattern::ports, whole(port), busy));
  return step;
}

}  // namespace

Plan plan_moe_normal(const Setting& setting) {
  const Work work = work_of(setting);
  Plan plan;
  plan.sms = static_cast<int>(work.traffic.sms);
  plan.hbm_bytes_per_wire_byte = setting.library.copy_hbm_bytes * static_cast<double>(setting.ranks() - 1);
  PlanStep step{Time::zero(), {}};
  if (work.traffic.tokens > 0) {
    step = setting.profile.in_node() ? inside_a_node(work) : between_nodes(work);
    step.latency += fill_of(work);
  }
  step.latency += work.spec.base + work.hops(work.spec.hops);
  plan.steps.push_back(std::move(step));
  return plan;
}

}  // namespace warploom
