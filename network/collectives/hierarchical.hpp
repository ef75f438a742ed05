// SPDX-License-Identifier: Apache-2.0
// Hierarchical collectives over two levels (node, nodes) or three (node, nodes under one switch, the rest): rings on
// every level, all pairs for an all-to-all.
//
// Equations in levels.hpp. NCCL does not have them, so they are taken only when asked for. The two-level all-reduce
// has a file of its own (hierarchical_all_reduce.hpp), whose node part is the bytes of its ports alone.
#pragma once

#include "network/collectives/levels.hpp"

namespace warploom {

namespace detail {
std::vector<Level> hierarchy(const std::vector<Axis>& axes, CollectiveKind kind);
Plan hierarchical_plan(const Setting& setting, Protocol protocol, int depth);
bool is_hierarchy_possible(const Setting& setting, Protocol protocol, int depth);
}  // namespace detail

template <CollectiveKind TheKind, int Depth>
class Hierarchical final : public Collective {
 public:
  CollectiveKind kind() const override { return TheKind; }
  Algorithm algorithm() const override { return Depth == 2 ? Algorithm::hierarchical : Algorithm::hierarchical_3d; }
  bool is_possible(const Setting& setting, Protocol protocol) const override {
    return detail::is_hierarchy_possible(setting, protocol, Depth);
  }
  bool is_offered(const Setting& /*setting*/, Protocol /*protocol*/) const override { return false; }
  Plan plan(const Setting& setting, Protocol protocol) const override {
    return detail::hierarchical_plan(setting, protocol, Depth);
  }
  Schedule schedule(int ranks) const override {
    return level_schedule(detail::hierarchy(levels_for_proof(ranks, Depth), TheKind), TheKind, ranks);
  }
};

}  // namespace warploom
