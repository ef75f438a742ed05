// SPDX-License-Identifier: Apache-2.0
// Two-level all-reduce: reduce-scatter inside each node, all-reduce rings between the nodes' members of equal place,
// all- gather inside each node; one after another.
//
// Equations, N nodes of k members: time = (k-1) hop + (k-1)/k bytes / port + 2 (N-1) network_hop + paths +
// 2 (N-1)/N bytes / (k card) + the first again, + start. Source: HCCL's hierarchical algorithms (hicann/hccl
// docs/zh/user_guide/coll_algo_intro). NCCL does not have it, so it is taken only when asked for.
#pragma once

#include "network/collectives/collective.hpp"

namespace warploom {

class HierarchicalAllReduce final : public Collective {
 public:
  CollectiveKind kind() const override { return CollectiveKind::all_reduce; }
  Algorithm algorithm() const override { return Algorithm::hierarchical; }
  bool is_possible(const Setting& setting, Protocol protocol) const override;
  bool is_offered(const Setting& /*setting*/, Protocol /*protocol*/) const override { return false; }
  Plan plan(const Setting& setting, Protocol protocol) const override;
  // Nodes of the largest divisor up to 8.
  Schedule schedule(int ranks) const override;
};

}  // namespace warploom
