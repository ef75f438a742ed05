// SPDX-License-Identifier: Apache-2.0
// Channel counts.
#include "network/collectives/channels.hpp"

#include <algorithm>

namespace warploom {

namespace {

constexpr std::int64_t most_graph_channels = 32;
constexpr std::int64_t least_threads = 96;
constexpr double least_share = 0.49;  // of the best channel's speed: slower ones are not tried

}  // namespace

RingGraph split_channels(RingGraph graph, const TunerSpec& tuner) {
  const bool is_split =
      graph.channel_rate.value() >= tuner.split_above.value() ||
      (graph.channels <= 4 && graph.channel_rate.value() >= 25e9);  // few channels are split at 25 GB/s already
  if (is_split && graph.channels > 0) return {graph.channels * 2, graph.channel_rate / 2};
  return graph;
}

RingGraph search_rings(Bandwidth port, const LibrarySpec& library) {
  RingGraph best;
  for (const Bandwidth speed : library.tuner.speeds) {
    if (best.channel_rate.value() > 0 && speed.value() <= least_share * best.channel_rate.value()) break;
    // A port is what its links reach, to within rounding.
    const auto count = std::min(static_cast<std::int64_t>(port.value() / speed.value() + 1e-6), most_graph_channels);
    if (speed.value() * static_cast<double>(count) > best.bus().value() * (1 + 1e-9)) best = {count, speed};
  }
  if (best.channel_rate.value() <= 0) return {std::max(library.node_channels, 24) / 2, port / 12};
  return split_channels(best, library.tuner);
}

std::int64_t most_channels(const Setting& setting) {
  if (!setting.profile.in_node()) return setting.library.network_channels;
  if (setting.library.node_channels > 0) return setting.library.node_channels;
  if (setting.profile.ring_pairs) return 2 * setting.profile.channels;
  return 2 * search_rings(setting.topology.port(), setting.library).channels;
}

Bandwidth block_rate(const Setting& setting, Protocol protocol) {
  const LibrarySpec& library = setting.library;
  if (protocol == Protocol::ll) return library.ll.channel_rate;
  if (protocol == Protocol::simple) return library.peer.simple.channel_rate;
  const auto channel = TunerSpec::at_nodes(library.tuner.ring_ll128_channel, setting.profile.nodes);
  return channel ? *channel / 2 : library.ll128.channel_rate;
}

ChannelUse channels_for(Bytes bytes, std::int64_t most, const ProtocolSpec& protocol, std::int64_t ranks) {
  const std::int64_t least = static_cast<std::int64_t>(protocol.bytes_per_thread) * (protocol.per_rank ? ranks : 1);
  const std::int64_t count = bytes.count();
  ChannelUse use{std::clamp<std::int64_t>(count / (protocol.threads * least), 1, most), protocol.threads};
  if (use.channels > 1) return use;
  while (use.threads > least_threads && count < use.threads * least) use.threads /= 2;
  use.threads = std::max(use.threads, std::min<std::int64_t>(least_threads, protocol.threads));
  return use;
}

}  // namespace warploom
