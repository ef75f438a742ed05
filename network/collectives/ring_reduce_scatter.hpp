// SPDX-License-Identifier: Apache-2.0
// Ring reduce-scatter: every part goes once around, each rank adds its own, and ends at its owner.
//
// Equation: n - 1 steps, each rank sends (n-1)/n of its buffer to its successor.
#pragma once

#include "network/collectives/collective.hpp"

namespace warploom {

class RingReduceScatter final : public Collective {
 public:
  CollectiveKind kind() const override { return CollectiveKind::reduce_scatter; }
  Algorithm algorithm() const override { return Algorithm::ring; }
  bool is_possible(const Setting& setting, Protocol protocol) const override;
  Plan plan(const Setting& setting, Protocol protocol) const override;
  Schedule schedule(int ranks) const override;
};

}  // namespace warploom
