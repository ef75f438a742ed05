// SPDX-License-Identifier: Apache-2.0
// Double-tree all-reduce: a chain inside each node, two complementary binary trees over the nodes, half of the data in
// each; up it is summed, down it is given to all.
//
// Equations, N nodes of k members: time = start + 2 ((k-1) hop + floor(log2 N) network_hop) + paths + fill + bytes /
// rate + held; network_hop with the transport's latency in it;
//   fill: the first chunk's own time on 2 (k-1) channels in a node and on 2 floor(log2 N) - 1 cards before the others;
//   held: (chunks of a channel - 1) x what `serial` x network_hop exceeds a chunk's time on the card by, of Simple.
// Chunks: 512 KiB, halved to no less than 128, 64 and 32 KiB while a channel has fewer than 8, 4 and 1 times the tree's
// depth of them (LL128: 562 KiB; 64 and 16 times (1 + log2 N + 0.1 k) / k; LL: 32 KiB). Measured over EFA, where a hop
// takes 35 us: 6% off over eight orders of magnitude (configs/clusters/aws_p4d.yaml).
// a card carries at most 2 bytes / k each way (1/k over two nodes), a node port 2 (k-1)/k bytes. The rate is NCCL's own
// (nccl_tuner.hpp), within a few percent of measured ones for large calls. Latency grows with log N where a ring's
// grows with N: 4 bytes over 16,384 ranks take 0.1 ms, not 37. Source: NCCL 2.30.7 src/device/all_reduce.h,
// src/graph/trees.cc.
#pragma once

#include "network/collectives/collective.hpp"

namespace warploom {

class TreeAllReduce final : public Collective {
 public:
  CollectiveKind kind() const override { return CollectiveKind::all_reduce; }
  Algorithm algorithm() const override { return Algorithm::tree; }
  bool is_possible(const Setting& setting, Protocol protocol) const override;
  Plan plan(const Setting& setting, Protocol protocol) const override;
  // Ranks one a node: the trees alone.
  Schedule schedule(int ranks) const override;
};

// Nodes above each other in the trees.
std::int64_t tree_levels(const Setting& setting);

// One step between nodes.
Time tree_hop(const Setting& setting, const ProtocolSpec& protocol);

// The latency of `nodes` in a tree, up and down.
Time tree_hops(const Setting& setting, const ProtocolSpec& protocol);

// The trees' flows, for a call of `bytes` that goes at `rate`.
Bundle tree_bundle(const Setting& setting, Bytes bytes, Bandwidth rate, double wire_bytes);

}  // namespace warploom
