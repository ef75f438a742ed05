// SPDX-License-Identifier: Apache-2.0
// HCCL's pipeline: a ring between the nodes, whose slices go on inside the node while the next ones arrive.
//
// Equations, N nodes of k, slices of B / (N k): all-gather, N - 1 rounds in which every member passes a slice around
// the nodes and another to each of its node's k - 1, then one round inside alone: max(inter, intra) (N - 1) + intra.
// Reduce-scatter backwards, all-reduce both. Source: hicann/hccl docs/zh/user_guide/coll_algo_intro (Pipeline).
#pragma once

#include "network/collectives/levels.hpp"

namespace warploom {

namespace detail {
bool is_pipeline_possible(const Setting& setting, Protocol protocol);
Plan pipeline_plan(const Setting& setting, Protocol protocol);
Schedule pipeline_schedule(CollectiveKind kind, int ranks);
}  // namespace detail

template <CollectiveKind TheKind>
class Pipeline final : public Collective {
 public:
  CollectiveKind kind() const override { return TheKind; }
  Algorithm algorithm() const override { return Algorithm::pipeline; }
  bool is_possible(const Setting& setting, Protocol protocol) const override {
    return detail::is_pipeline_possible(setting, protocol);
  }
  Plan plan(const Setting& setting, Protocol protocol) const override {
    return detail::pipeline_plan(setting, protocol);
  }
  Schedule schedule(int ranks) const override { return detail::pipeline_schedule(TheKind, ranks); }
};

}  // namespace warploom
