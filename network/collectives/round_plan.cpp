// SPDX-License-Identifier: Apache-2.0
// Rounds as plan steps.
#include "network/collectives/round_plan.hpp"

#include <algorithm>
#include <cmath>

#include "network/collectives/channels.hpp"
#include "network/collectives/pace.hpp"
#include "network/fabrics/axis.hpp"
#include "network/fabrics/flows.hpp"

namespace warploom {

Reach reach_of(const Traffic& traffic, const Group& group, const Topology& topology) {
  const Group lines = require_lines(traffic.axis, group);
  Reach reach;
  const auto add = [&](Rank from, Rank to) {
    reach.leaves_node = reach.leaves_node || !topology.same_node(from, to);
    reach.latency = std::max(reach.latency, topology.latency(from, to));
  };
  // The first line of each box: lines of a regular group are alike.
  for (const RankBox& box : lines.instances) {
    const Rank start = box.base;
    if (traffic.pattern == FlowPattern::all_pairs) {
      // The units that the members are in nest: the one that is farthest from any is as far from the first.
      for (std::int64_t i = 1; i < lines.member_count(); ++i) add(lines.rank(start, 0), lines.rank(start, i));
      continue;
    }
    if (traffic.pattern == FlowPattern::ring) {
      for (std::int64_t i = 0; i < lines.member_count(); ++i)
        add(lines.rank(start, i), lines.rank(start, (i + 1) % lines.member_count()));
      continue;
    }
    for (const FlowBox& flow : TrafficShape(traffic, lines, topology.node_size()).flows(Box(start)).routed) {
      for (std::int64_t i = 0; i < flow.from.size(); ++i) add(flow.from.at(i), flow.from.at(i) + flow.delta);
    }
  }
  return reach;
}

namespace {

// Payload rate of one of the round's flows, as far as the member and its library set it.
Bandwidth flow_rate(const Setting& setting, Protocol chosen, const Round& round, const Axis& axis, bool leaves_node,
                    std::int64_t channels) {
  const ProtocolSpec& protocol = protocol_of(setting.library, chosen);
  Bandwidth rate = setting.topology.port() * protocol.efficiency / round.fan;
  if (leaves_node) {
    // Of the whole group those of the own node stay; lines between nodes leave it.
    const bool is_whole = axis.count == 0 && round.fan > 1;
    const std::int64_t leaving = is_whole ? round.fan + 1 - setting.profile.least_in_node : round.fan;
    const Bandwidth card = setting.topology.card() * protocol.network_efficiency / std::max<std::int64_t>(leaving, 1);
    rate = round.fan > 1 ? std::min(rate, card) : card;
  }
  // A group's ring between nodes leaves each by all the members' cards.
  if (round.pattern == FlowPattern::ring && axis.count == 0) rate = ring_rate(setting, chosen);
  if (protocol.channel_rate.value() > 0) rate = std::min(rate, protocol.channel_rate * channels);
  return rate;
}

ChannelUse channels_of(const Setting& setting, const ProtocolSpec& protocol) {
  return channels_for(setting.call.bytes, most_channels(setting), protocol, setting.ranks());
}

}  // namespace

Time call_start(const Setting& setting, Protocol chosen) {
  const ProtocolSpec& protocol = protocol_of(setting.library, chosen);
  return start_time(protocol, channels_of(setting, protocol));
}

Plan empty_plan(const Setting& setting, Protocol chosen, double share) {
  const ProtocolSpec& protocol = protocol_of(setting.library, chosen);
  Plan plan;
  plan.sms = static_cast<int>(channels_of(setting, protocol).channels);
  plan.hbm_bytes_per_wire_byte =
      (setting.library.reduce_hbm_bytes * share + setting.library.copy_hbm_bytes * (1 - share)) / protocol.wire_bytes;
  return plan;
}

PlanStep round_step(const Setting& setting, Protocol chosen, const Round& round, const Phase& phase) {
  const ProtocolSpec& protocol = protocol_of(setting.library, chosen);
  const auto repeats = static_cast<double>(round.repeats);
  const double payload = phase.piece * static_cast<double>(round.pieces) * repeats;
  Bundle bundle;
  bundle.traffic = {round.pattern, setting.call.group, round.distance, phase.axis, nullptr};
  const Reach reach = reach_of(bundle.traffic, setting.group, setting.topology);
  PlanStep step;
  step.latency = (reach.leaves_node ? network_step(setting, protocol) + reach.latency : protocol.hop) * repeats;
  if (round.reduces && setting.library.reduce_rate.value() > 0) {
    step.latency += Time::from_seconds(payload * static_cast<double>(round.fan) / setting.library.reduce_rate.value());
  }
  if (payload <= 0) return step;
  bundle.coupled = is_coupled(round.pattern);
  bundle.bytes_per_flow = Bytes(std::llround(payload * protocol.wire_bytes));
  bundle.flow_limit =
      flow_rate(setting, chosen, round, phase.axis, reach.leaves_node, channels_of(setting, protocol).channels) *
      protocol.wire_bytes;
  step.bundles.push_back(std::move(bundle));
  return step;
}

Plan round_plan(const Setting& setting, Protocol chosen, const std::vector<Phase>& phases) {
  std::vector<PlanStep> steps;
  Time latency = call_start(setting, chosen);
  double reduced = 0;
  double moved = 0;
  for (const Phase& phase : phases) {
    for (const Round& round : phase.rounds) {
      const double arrives = phase.piece * static_cast<double>(round.pieces * round.repeats * round.fan);
      moved += arrives;
      if (round.reduces) reduced += arrives;
      PlanStep step = round_step(setting, chosen, round, phase);
      latency += step.latency;
      if (step.bundles.empty()) continue;
      step.latency = latency;
      latency = Time::zero();
      steps.push_back(std::move(step));
    }
  }
  if (latency > Time::zero()) steps.push_back({latency, {}});
  Plan plan = empty_plan(setting, chosen, moved > 0 ? reduced / moved : 0);
  plan.steps = std::move(steps);
  return plan;
}

Time time_alone(const Plan& plan) {
  Time sum = Time::zero();
  for (const PlanStep& step : plan.steps) {
    Time longest = Time::zero();
    for (const Bundle& bundle : step.bundles) {
      if (bundle.flow_limit.value() > 0) longest = std::max(longest, bundle.bytes_per_flow / bundle.flow_limit);
    }
    sum += step.latency + longest;
  }
  return sum;
}

}  // namespace warploom
