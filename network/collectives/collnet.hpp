// SPDX-License-Identifier: Apache-2.0
// CollNet: the network's switches add (InfiniBand SHARP), the node's devices meet over NVLink before and after.
//
// Equations, N nodes of k with c cards, B bytes: over every port 2 (k-1)/k B each way; over the cards of a node B up
// and B down, once whatever N is; both pipelined, the slower counts. Direct: every card's device is the head of a
// slice, one step to it and one from it, latency 2 (hop + 0.4 us (k-1)) + network_hop; chain: the devices of a node in
// a chain to the head, 2 (k-1) chain_hop + chain_network_hop. The reduction tree puts on the links between switches
// what a ring over the nodes does: one stream out of every switch and one back. Source: NCCL 2.30.7 src/graph/tuning.cc
// (latencies; ncclTopoTuneModel), Graham et al., "Scalable Hierarchical Aggregation Protocol (SHArP)", COMHPC 2016. Not
// modelled: how many reductions a switch can hold at once.
#pragma once

#include "network/collectives/collective.hpp"

namespace warploom {

class CollnetDirect final : public Collective {
 public:
  CollectiveKind kind() const override { return CollectiveKind::all_reduce; }
  Algorithm algorithm() const override { return Algorithm::collnet_direct; }
  bool is_possible(const Setting& setting, Protocol protocol) const override;
  Plan plan(const Setting& setting, Protocol protocol) const override;
  Schedule schedule(int ranks) const override;
};

class CollnetChain final : public Collective {
 public:
  CollectiveKind kind() const override { return CollectiveKind::all_reduce; }
  Algorithm algorithm() const override { return Algorithm::collnet_chain; }
  bool is_possible(const Setting& setting, Protocol protocol) const override;
  Plan plan(const Setting& setting, Protocol protocol) const override;
  Schedule schedule(int ranks) const override;
};

// Latency of a call beyond its start.
Time collnet_latency(const Setting& setting, Algorithm algorithm);

}  // namespace warploom
