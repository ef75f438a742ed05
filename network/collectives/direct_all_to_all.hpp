// SPDX-License-Identifier: Apache-2.0
// Direct all-to-all, as grouped sends and receives: every rank sends each other rank its part, all at once.
//
// Equation: one step; of the buffer that a rank sends, 1/n goes to each, and the n-th stays. Every pair is a flow of
// its own.
#pragma once

#include "network/collectives/peer.hpp"

namespace warploom {

class DirectAllToAll final : public DirectCollective {
 public:
  CollectiveKind kind() const override { return CollectiveKind::all_to_all; }
  Schedule schedule(int ranks) const override;

 private:
  Messages messages(const Setting& setting) const override;
};

}  // namespace warploom
