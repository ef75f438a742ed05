// SPDX-License-Identifier: Apache-2.0
// Plan and schedule of the double tree.
#include "network/collectives/tree_all_reduce.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "network/collectives/channels.hpp"
#include "network/collectives/nccl_tuner.hpp"
#include "network/collectives/pace.hpp"
#include "network/fabrics/double_tree.hpp"

namespace warploom {

std::int64_t tree_levels(const Setting& setting) {
  return static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(setting.profile.nodes))) - 1;
}

Time tree_hop(const Setting& setting, const ProtocolSpec& protocol) {
  return protocol.tree_network_hop.value_or(protocol.network_hop) + setting.library.transport.latency;
}

Time tree_hops(const Setting& setting, const ProtocolSpec& protocol) {
  return (tree_hop(setting, protocol) * tree_levels(setting) + setting.profile.tree_latency) * 2;
}

Bundle tree_bundle(const Setting& setting, Bytes bytes, Bandwidth rate, double wire_bytes) {
  return bundle_of(setting, FlowPattern::tree, bytes * (wire_bytes / 2), rate * (wire_bytes / 2));
}

bool TreeAllReduce::is_possible(const Setting& setting, Protocol protocol) const {
  // What a tree moves inside a node is counted on the ports into the node's switch; a mesh has none.
  const bool is_counted = setting.topology.reduces_in_node() || setting.profile.nodes == setting.ranks();
  return protocol_of(setting.library, protocol).enabled && is_counted;
}

namespace {

std::int64_t members_of_node(const Setting& setting) {
  return std::max<std::int64_t>(setting.ranks() / setting.profile.nodes, 1);
}

// Halves `chunk` while a channel has fewer than `loops` of it and it is above `least`.
void halve(double& chunk, double share, double loops, double least) {
  while (std::floor(share / chunk) < loops && chunk > least) chunk /= 2;
}

// What a channel of the tree sends at once; `share`: its part of the call.
double tree_chunk(const Setting& setting, Protocol protocol, double share) {
  constexpr double kib = 1024;
  const auto in_node = static_cast<double>(members_of_node(setting));
  const auto levels = static_cast<double>(tree_levels(setting));
  if (protocol == Protocol::ll) return 32 * kib;
  if (protocol == Protocol::ll128) {
    double chunk = 562.5 * kib;
    const double steps = (1 + levels + 0.1 * in_node) / in_node;
    halve(chunk, share, 64 * steps, 128 * kib);
    halve(chunk, share, 16 * steps, 32 * kib);
    return chunk;
  }
  double chunk = 512 * kib;
  const double depth = in_node - 1 + levels;
  halve(chunk, share, 8 * depth, 128 * kib);
  halve(chunk, share, 4 * depth, 64 * kib);
  halve(chunk, share, depth, 32 * kib);
  return chunk;
}

double share_of_channel(const Setting& setting, const ChannelUse& use) {
  return static_cast<double>(setting.call.bytes.count()) / static_cast<double>(use.channels);
}

// Beyond the steps' latencies and the bytes over the rate: the first chunk on its way up and down, and what a Simple
// channel waits for its messages. Zero in one node.
Time pipeline_time(const Setting& setting, Protocol chosen, const ChannelUse& use, double chunk, Bandwidth rate) {
  if (setting.profile.in_node() || chunk <= 0) return Time::zero();
  const ProtocolSpec& protocol = protocol_of(setting.library, chosen);
  const auto channels = static_cast<double>(use.channels);
  const double share = share_of_channel(setting, use);
  // One way, one hop: a card that passes on what comes from below and from above carries it twice.
  const double on_card = chunk * channels / std::max(rate.value(), cards_rate(setting, protocol).value());
  const double in_channel = channel_pace(setting, protocol).value();
  const auto cards = static_cast<double>(2 * tree_levels(setting));
  // LL and LL128 flag every line, so that a chunk is passed on while it comes in; a card takes only whole ones.
  const double stored = chosen == Protocol::simple ? static_cast<double>(2 * (members_of_node(setting) - 1)) : cards;
  double seconds = stored * chunk / in_channel + (cards - 1) * on_card;
  if (chosen == Protocol::simple) {
    const double held = tree_hop(setting, protocol).seconds() * setting.library.transport.serial;
    seconds += std::max(std::ceil(share / chunk) - 1, 0.0) * std::max(held - on_card, 0.0);
  }
  return Time::from_seconds(seconds);
}

}  // namespace

Plan TreeAllReduce::plan(const Setting& setting, Protocol chosen) const {
  const ProtocolSpec& protocol = protocol_of(setting.library, chosen);
  const std::int64_t in_node = members_of_node(setting);
  std::int64_t most = most_channels(setting);
  if (!setting.profile.in_node())
    most = std::clamp<std::int64_t>(static_cast<std::int64_t>(2 * cards_of(setting)), 1, most);
  // A tree wakes channels whatever its ranks are.
  const ChannelUse use = channels_for(setting.call.bytes, most, protocol, 1);
  Bandwidth rate = tuner_estimate(setting, CollectiveKind::all_reduce, Algorithm::tree, chosen).rate;
  const double port_share = 2.0 * static_cast<double>(in_node - 1) / static_cast<double>(in_node);
  if (in_node > 1) {
    const Bandwidth port = setting.topology.port() * protocol.efficiency;
    rate = std::min(rate, port / port_share);
  }
  Plan plan;
  plan.sms = static_cast<int>(use.channels);
  plan.hbm_bytes_per_wire_byte = (setting.library.reduce_hbm_bytes + setting.library.copy_hbm_bytes) / 2;
  const double share = share_of_channel(setting, use);
  const double chunk = share > 0 ? std::min(tree_chunk(setting, chosen, share), share) : 0;
  const Time latency = start_time(protocol, use) + protocol.hop * (2 * (in_node - 1)) + tree_hops(setting, protocol) +
                       handshake_time(setting, protocol, chunk) + pipeline_time(setting, chosen, use, chunk, rate);
  // A chunk takes a slot of its channel's connection to the parent.
  rate = windowed_rate(setting, rate, setting.call.bytes,
                       Bytes(std::llround(chunk * connection_slots * static_cast<double>(use.channels))));
  PlanStep step{latency, {}};
  // So few bytes load no link: the whole call is latency, and the fabric need not know of the tree.
  if (const Time moving = setting.call.bytes / rate; moving < latency / 100) {
    step.latency += moving;
    plan.steps.push_back(std::move(step));
    return plan;
  }
  if (in_node > 1) {
    const double wire = port_share * protocol.wire_bytes;
    step.bundles.push_back(bundle_of(setting, FlowPattern::ports, setting.call.bytes * wire, rate * wire));
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
