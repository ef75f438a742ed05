// SPDX-License-Identifier: Apache-2.0
// Direct all-to-all, as grouped sends and receives: every rank sends each other rank its part, all at once.
//
// Equation: one step; of the buffer that a rank sends, 1/n goes to each, and the n-th stays. Every pair is a flow of
// its own.
#pragma once

#include "network/collectives/collective.hpp"

namespace warploom {

class DirectAllToAll final : public Collective {
 public:
  CollectiveKind kind() const override { return CollectiveKind::all_to_all; }
  Algorithm algorithm() const override { return Algorithm::direct; }
  bool is_possible(const Setting& setting, Protocol protocol) const override;
  bool is_offered(const Setting& setting, Protocol protocol) const override;
  Plan plan(const Setting& setting, Protocol protocol) const override;
  Schedule schedule(int ranks) const override;
};

}  // namespace warploom
