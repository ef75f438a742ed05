// SPDX-License-Identifier: Apache-2.0
// Plan and schedule of the NVLS tree.
#include "network/collectives/nvls_tree_all_reduce.hpp"

#include <algorithm>
#include <cmath>

#include "network/collectives/nccl_tuner.hpp"
#include "network/collectives/nvls_all_reduce.hpp"
#include "network/collectives/pace.hpp"
#include "network/collectives/ring_schedule.hpp"
#include "network/collectives/tree_all_reduce.hpp"

namespace warploom {

bool NvlsTreeAllReduce::is_possible(const Setting& setting, Protocol protocol) const {
  return setting.library.nvls.enabled && protocol == Protocol::simple && !setting.profile.in_node() &&
         setting.profile.least_in_node > 1 && setting.topology.reduces_in_node();
}

namespace {

// The chunk shrinks with the buffer, `round` being the channels of all heads.
double nvls_tree_chunk(const Setting& setting, double round) {
  constexpr double kib = 1024;
  const auto bytes = static_cast<double>(setting.call.bytes.count());
  const TransportSpec& transport = setting.library.transport;
  const Bytes most = setting.profile.nodes >= 4 ? std::min(transport.nvls_tree_chunk, transport.nvls_tree_wide_chunk)
                                                : transport.nvls_tree_chunk;
  auto chunk = static_cast<double>(most.count());
  if (bytes < 32 * round * chunk) chunk = std::min(chunk, 256 * kib);
  if (bytes < 16 * round * chunk) chunk = std::min(chunk, 128 * kib);
  if (bytes < 4 * round * chunk) chunk = std::min(chunk, 64 * kib);
  if (bytes < round * chunk) chunk = std::min(chunk, 32 * kib);
  return chunk;
}

}  // namespace

Plan NvlsTreeAllReduce::plan(const Setting& setting, Protocol chosen) const {
  const ProtocolSpec& protocol = setting.library.simple;
  const NvlsSpec& nvls = setting.library.nvls;
  const auto heads = static_cast<double>(setting.profile.least_in_node);
  const double share = (heads + 1) / heads;  // of the buffer on a port
  const Bandwidth own = tuner_estimate(setting, CollectiveKind::all_reduce, Algorithm::nvls_tree, chosen).rate;
  // A card that passes on what comes from below and from above carries every byte twice each way; a node of two is
  // the root of one tree and a leaf of the other.
  const double passes = setting.profile.nodes > 2 ? 2 : 1;
  const Bandwidth rate =
      std::min({own * nvls.tree_rate, nvls_port_rate(setting) / share, cards_rate(setting, protocol) / passes});
  Plan plan;
  plan.sms = setting.library.nvls.channels;
  plan.hbm_bytes_per_wire_byte = 2;
  const auto bytes = static_cast<double>(setting.call.bytes.count());
  const double round = nvls.channels * heads;
  const double whole = nvls_tree_chunk(setting, round);
  const double chunk = std::min(whole, bytes / round);
  // As inside a node, a chunk that is not full takes no less.
  const Time step = nvls_step(setting, setting.profile.least_in_node, whole);
  const Time on_card = Time::from_seconds(chunk * round / rate.value());
  // A chunk goes up and comes down before the channel takes its next.
  const Time held = tree_hop(setting, protocol) * (2 * setting.library.transport.serial) + nvls.step * 2;
  const double later = chunk > 0 ? std::max(std::ceil(bytes / (chunk * round) - 1e-9) - 1, 0.0) : 0.0;
  const double fill = static_cast<double>(2 * tree_levels(setting) - 1);
  // One way, one hop: a card that passes on what comes from below and from above carries it twice.
  const Time on_hop = Time::from_seconds(chunk * round / std::max(rate.value(), cards_rate(setting, protocol).value()));
  const Time latency = std::max(step * (1 + nvls.fill), nvls.base) + tree_hops(setting, protocol) +
                       handshake_time(setting, protocol, chunk) + on_hop * fill +
                       std::max(held - on_card, Time::zero()) * later;
  plan.steps.push_back({latency,
                        {bundle_of(setting, FlowPattern::ports, setting.call.bytes * share, rate * share),
                         tree_bundle(setting, setting.call.bytes, rate, protocol.wire_bytes)}});
  return plan;
}

// Chunk h of tree t is the half slice of head h.
Schedule NvlsTreeAllReduce::schedule(int ranks) const {
  const int in_node = node_of_schedule(ranks);
  const int nodes = ranks / in_node;
  const Schedule trees = TreeAllReduce().schedule(nodes);
  int last = 0;
  for (const auto& transfer : trees.transfers) last = std::max(last, transfer.step + 1);
  Schedule schedule{ranks, 2 * in_node, {}};
  for (int head = 0; head < in_node; ++head) {
    for (int tree = 0; tree < 2; ++tree) {
      const int chunk = 2 * head + tree;
      for (int node = 0; node < nodes; ++node) {
        for (int rank = 0; rank < in_node; ++rank) {
          if (rank == head) continue;
          const int base = node * in_node;
          schedule.transfers.push_back({0, base + rank, base + head, chunk, true});
          schedule.transfers.push_back({last + 1, base + head, base + rank, chunk, false});
        }
      }
    }
    for (const auto& transfer : trees.transfers) {
      schedule.transfers.push_back({transfer.step + 1, transfer.from * in_node + head, transfer.to * in_node + head,
                                    2 * head + transfer.chunk, transfer.reduce});
    }
  }
  return schedule;
}

}  // namespace warploom
