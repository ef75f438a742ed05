// SPDX-License-Identifier: Apache-2.0
// Ring all-gather: every rank's part goes once around.
//
// Equation: n - 1 steps, each rank sends (n-1)/n of what all end with to its successor.
#pragma once

#include "network/collectives/collective.hpp"

namespace warploom {

class RingAllGather final : public Collective {
 public:
  CollectiveKind kind() const override { return CollectiveKind::all_gather; }
  Algorithm algorithm() const override { return Algorithm::ring; }
  bool is_possible(const Setting& setting, Protocol protocol) const override;
  Plan plan(const Setting& setting, Protocol protocol) const override;
  Schedule schedule(int ranks) const override;
};

}  // namespace warploom
