// SPDX-License-Identifier: Apache-2.0
// Plan and schedule of the two-level all-reduce.
#include "network/collectives/hierarchical_all_reduce.hpp"

#include "network/collectives/channels.hpp"
#include "network/collectives/pace.hpp"
#include "network/collectives/ring_schedule.hpp"

namespace warploom {

bool HierarchicalAllReduce::is_possible(const Setting& setting, Protocol protocol) const {
  return protocol_of(setting.library, protocol).enabled && !setting.profile.in_node() &&
         setting.profile.least_in_node > 1 && setting.topology.reduces_in_node();
}

Plan HierarchicalAllReduce::plan(const Setting& setting, Protocol chosen) const {
  const ProtocolSpec& protocol = protocol_of(setting.library, chosen);
  const auto& profile = setting.profile;
  const std::int64_t in_node = profile.least_in_node;
  const std::int64_t nodes = profile.nodes;
  const ChannelUse use = channels_for(setting.call.bytes, most_channels(setting), protocol, setting.ranks());
  const Bytes inner = setting.call.bytes * (in_node - 1) / in_node * protocol.wire_bytes;
  const Bandwidth port = setting.topology.port() * (protocol.efficiency * protocol.wire_bytes);
  const Bundle rails =
      bundle_of(setting, FlowPattern::rails, setting.call.bytes * (2 * (nodes - 1)) / nodes * protocol.wire_bytes,
                setting.topology.card() * (protocol.network_efficiency * protocol.wire_bytes * cards_of(setting)));
  const Bundle ports = bundle_of(setting, FlowPattern::ports, inner, port);

  Plan plan;
  plan.sms = static_cast<int>(use.channels);
  plan.hbm_bytes_per_wire_byte = (setting.library.reduce_hbm_bytes + setting.library.copy_hbm_bytes) / 2;
  const Time inside = protocol.hop * (in_node - 1);
  plan.steps.push_back({start_time(protocol, use) + inside, {ports}});
  const double hops = static_cast<double>(2 * (nodes - 1));
  plan.steps.push_back(
      {network_step(setting, protocol) * hops + profile.path_latency * (hops / static_cast<double>(nodes)), {rails}});
  plan.steps.push_back({inside, {ports}});
  return plan;
}

// Chunk c + in_node x d is part d of the slice that member c of each node sums.
Schedule HierarchicalAllReduce::schedule(int ranks) const {
  const int in_node = node_of_schedule(ranks);
  const int nodes = ranks / in_node;
  Schedule node{in_node, in_node, {}};
  add_ring_reduce_scatter(node, 0);
  Schedule rail{nodes, nodes, {}};
  add_ring_reduce_scatter(rail, in_node - 1);
  add_ring_all_gather(rail, in_node - 1 + nodes - 1);
  Schedule gather{in_node, in_node, {}};
  add_ring_all_gather(gather, in_node - 1 + 2 * (nodes - 1));

  Schedule schedule{ranks, ranks, {}};
  const auto add_inside = [&](const Schedule& part) {
    for (int at = 0; at < nodes; ++at) {
      for (const auto& transfer : part.transfers) {
        for (int d = 0; d < nodes; ++d) {
          schedule.transfers.push_back({transfer.step, at * in_node + transfer.from, at * in_node + transfer.to,
                                        transfer.chunk + in_node * d, transfer.reduce});
        }
      }
    }
  };
  add_inside(node);
  for (int member = 0; member < in_node; ++member) {
    for (const auto& transfer : rail.transfers) {
      schedule.transfers.push_back({transfer.step, transfer.from * in_node + member, transfer.to * in_node + member,
                                    member + in_node * transfer.chunk, transfer.reduce});
    }
  }
  add_inside(gather);
  return schedule;
}

}  // namespace warploom
