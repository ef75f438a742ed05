// SPDX-License-Identifier: Apache-2.0
// Plan and schedule of the double tree.
#include "network/collectives/tree_all_reduce.hpp"

#include <algorithm>
#include <bit>

#include "network/collectives/channels.hpp"
#include "network/collectives/nccl_tuner.hpp"
#include "network/collectives/pace.hpp"
#include "network/fabrics/double_tree.hpp"

namespace warploom {

Time tree_hops(const Setting& setting, const ProtocolSpec& protocol) {
  const auto nodes = static_cast<std::uint64_t>(setting.profile.nodes);
  const int levels = static_cast<int>(std::bit_width(nodes)) - 1;
  return (protocol.network_hop * levels + setting.profile.tree_latency) * 2;
}

Bundle tree_bundle(const Setting& setting, Bytes bytes, Bandwidth rate, double wire_bytes) {
  Bundle bundle;
  bundle.traffic = {FlowPattern::tree, setting.call.group};
  bundle.bytes_per_flow = bytes * (wire_bytes / 2);
  bundle.flow_limit = rate * (wire_bytes / 2);
  return bundle;
}

Bundle ports_bundle(const Setting& setting, Bytes bytes, Bandwidth rate) {
  Bundle bundle;
  bundle.traffic = {FlowPattern::ports, setting.call.group};
  bundle.bytes_per_flow = bytes;
  bundle.flow_limit = rate;
  return bundle;
}

bool TreeAllReduce::is_possible(const Setting& setting, Protocol protocol) const {
  return setting.ranks() > 1 && protocol_of(setting.library, protocol).enabled;
}

Plan TreeAllReduce::plan(const Setting& setting, Protocol chosen) const {
  const ProtocolSpec& protocol = protocol_of(setting.library, chosen);
  const std::int64_t in_node = std::max<std::int64_t>(setting.ranks() / setting.profile.nodes, 1);
  // A tree wakes channels whatever its ranks are.
  const ChannelUse use = channels_for(setting.call.bytes, most_channels(setting), protocol, 1);
  Bandwidth rate = tuner_estimate(setting, CollectiveKind::all_reduce, Algorithm::tree, chosen).rate;
  const double port_share = 2.0 * static_cast<double>(in_node - 1) / static_cast<double>(in_node);
  if (in_node > 1) {
    const Bandwidth port = setting.topology.tiers()[0].payload() * protocol.efficiency;
    rate = std::min(rate, port / port_share);
  }
  Plan plan;
  plan.sms = static_cast<int>(use.channels);
  plan.hbm_bytes_per_wire_byte = (setting.library.reduce_hbm_bytes + setting.library.copy_hbm_bytes) / 2;
  const Time latency = start_time(protocol, use) + protocol.hop * (2 * (in_node - 1)) + tree_hops(setting, protocol);
  PlanStep step{latency, {}};
  // So few bytes load no link: the whole call is latency, and the fabric need not know of the tree.
  if (const Time moving = setting.call.bytes / rate; moving < latency / 100) {
    step.latency += moving;
    plan.steps.push_back(std::move(step));
    return plan;
  }
  if (in_node > 1) {
    const double share = port_share * protocol.wire_bytes;
    step.bundles.push_back(ports_bundle(setting, setting.call.bytes * share, rate * share));
  }
  if (!setting.profile.in_node()) {
    step.bundles.push_back(tree_bundle(setting, setting.call.bytes, rate, protocol.wire_bytes));
  }
  plan.steps.push_back(std::move(step));
  return plan;
}

namespace {

int depth_of(const std::vector<int>& parents, int rank) {
  int depth = 0;
  for (; parents[static_cast<std::size_t>(rank)] >= 0; rank = parents[static_cast<std::size_t>(rank)]) ++depth;
  return depth;
}

}  // namespace

// A chunk a tree. Up: the deeper a rank, the earlier it sends; down in reverse.
Schedule TreeAllReduce::schedule(int ranks) const {
  Schedule schedule{ranks, 2, {}};
  for (int which = 0; which < 2; ++which) {
    std::vector<int> parents(static_cast<std::size_t>(ranks), -1);
    for (const auto& edges : double_tree(ranks, which).edges) {
      for (std::int64_t i = 0; i < edges.count; ++i) {
        const std::int64_t child = edges.first + i * edges.stride;
        parents[static_cast<std::size_t>(child)] = static_cast<int>(child + edges.delta);
      }
    }
    int deepest = 0;
    for (int rank = 0; rank < ranks; ++rank) deepest = std::max(deepest, depth_of(parents, rank));
    for (int rank = 0; rank < ranks; ++rank) {
      const int parent = parents[static_cast<std::size_t>(rank)];
      if (parent < 0) continue;
      const int depth = depth_of(parents, rank);
      schedule.transfers.push_back({deepest - depth, rank, parent, which, true});
      schedule.transfers.push_back({deepest + depth, parent, rank, which, false});
    }
  }
  return schedule;
}

}  // namespace warploom
