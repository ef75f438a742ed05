// SPDX-License-Identifier: Apache-2.0
// Ring all-reduce: a reduce-scatter and an all-gather around the same ring.
//
// Equation: 2 (n-1) steps, each rank sends 2 (n-1)/n of the buffer to its successor. Source: Patarasuk and Yuan, JPDC
// 2009.
#pragma once

#include "network/collectives/collective.hpp"

namespace warploom {

class RingAllReduce final : public Collective {
 public:
  CollectiveKind kind() const override { return CollectiveKind::all_reduce; }
  Algorithm algorithm() const override { return Algorithm::ring; }
  bool is_possible(const Setting& setting, Protocol protocol) const override;
  Plan plan(const Setting& setting, Protocol protocol) const override;
  Schedule schedule(int ranks) const override;
};

}  // namespace warploom
