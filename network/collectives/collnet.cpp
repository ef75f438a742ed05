// SPDX-License-Identifier: Apache-2.0
// Plans and schedules of CollNet.
#include "network/collectives/collnet.hpp"

#include <algorithm>

#include "network/collectives/channels.hpp"
#include "network/collectives/pace.hpp"
#include "network/collectives/ring_schedule.hpp"
#include "network/fabrics/explicit_flows.hpp"

namespace warploom {

Time collnet_latency(const Setting& setting, Algorithm algorithm) {
  const CollnetSpec& collnet = setting.library.collnet;
  const std::int64_t others = setting.profile.least_in_node - 1;
  if (algorithm == Algorithm::collnet_chain) return collnet.chain_hop * (2 * others) + collnet.chain_network_hop;
  const Time inside = others > 0 ? (collnet.hop + Time::picoseconds(400'000) * others) * 2 : Time::zero();
  return inside + collnet.network_hop;
}

namespace {

bool is_possible_over(const Setting& setting, Protocol protocol) {
  return setting.library.collnet.enabled && protocol == Protocol::simple && !setting.profile.in_node() &&
         (setting.profile.least_in_node < 2 || setting.topology.reduces_in_node());
}

Plan collnet_plan(const Setting& setting, Algorithm algorithm) {
  const ProtocolSpec& protocol = setting.library.simple;
  const ChannelUse use = channels_for(setting.call.bytes, most_channels(setting), protocol, setting.ranks());
  const std::int64_t in_node = setting.profile.least_in_node;
  Plan plan;
  plan.sms = static_cast<int>(use.channels);
  plan.hbm_bytes_per_wire_byte = (setting.library.reduce_hbm_bytes + setting.library.copy_hbm_bytes) / 2;
  PlanStep step{start_time(protocol, use) + collnet_latency(setting, algorithm), {}};
  const Bandwidth cards = setting.topology.card() * (protocol.network_efficiency * cards_of(setting));
  step.bundles.push_back(bundle_of(setting, FlowPattern::rails, setting.call.bytes, cards));
  step.bundles.back().traffic.distance = rails_by_switches;
  if (in_node > 1) {
    step.bundles.push_back(bundle_of(setting, FlowPattern::ports, setting.call.bytes * (2 * (in_node - 1)) / in_node,
                                     setting.topology.port() * protocol.efficiency));
  }
  plan.steps.push_back(std::move(step));
  return plan;
}

// Slice h belongs to the h-th device of every node. What the switches add is added at the first node's head.
Schedule collnet_schedule(int ranks, bool is_chain) {
  const int in_node = node_of_schedule(ranks);
  const int nodes = ranks / in_node;
  Schedule schedule{ranks, in_node, {}};
  const int steps = is_chain ? in_node - 1 : 1;
  for (int head = 0; head < in_node; ++head) {
    for (int node = 0; node < nodes; ++node) {
      const int base = node * in_node;
      if (node > 0) {
        schedule.transfers.push_back({steps, base + head, head, head, true});
        schedule.transfers.push_back({steps + 1, head, base + head, head, false});
      }
      for (int away = 1; away < in_node; ++away) {
        const int member = base + (head + away) % in_node;
        const int next = is_chain ? base + (head + away - 1) % in_node : base + head;
        schedule.transfers.push_back({is_chain ? in_node - 1 - away : 0, member, next, head, true});
        schedule.transfers.push_back({steps + 2 + (is_chain ? away - 1 : 0), next, member, head, false});
      }
    }
  }
  return schedule;
}

}  // namespace

bool CollnetDirect::is_possible(const Setting& setting, Protocol protocol) const {
  return is_possible_over(setting, protocol);
}
Plan CollnetDirect::plan(const Setting& setting, Protocol /*protocol*/) const {
  return collnet_plan(setting, algorithm());
}
Schedule CollnetDirect::schedule(int ranks) const { return collnet_schedule(ranks, false); }

bool CollnetChain::is_possible(const Setting& setting, Protocol protocol) const {
  return is_possible_over(setting, protocol);
}
Plan CollnetChain::plan(const Setting& setting, Protocol /*protocol*/) const {
  return collnet_plan(setting, algorithm());
}
Schedule CollnetChain::schedule(int ranks) const { return collnet_schedule(ranks, true); }

}  // namespace warploom
