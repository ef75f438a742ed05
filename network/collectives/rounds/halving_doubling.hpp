// SPDX-License-Identifier: Apache-2.0
// Recursive halving and doubling: members exchange halves with partners at distance 1, 2, 4, ...
//
// Equations, p the largest power of two up to n, r = n - p: reduce-scatter, at distance d (1, 2, .. p/2), a member
// keeps the pieces whose number has its own bit d and sends the others, p / 2d of them (and those of the r that are
// doubled up: ceil(r / 2d)); the all-gather is that backwards. The r members that are left over give their buffer to
// member i - p before and get their part after it. The nearest partner gets the largest message, so that most stays in
// a node; what is sent is not contiguous, which costs nothing here. Source: Thakur, Rabenseifner, Gropp, IJHPCA 2005;
// HCCL's HD, log2(p) steps.
#pragma once

#include "network/collectives/rounds/round_algorithm.hpp"

namespace warploom {

class HalvingDoublingRounds final : public RoundAlgorithm {
 public:
  Algorithm algorithm() const override { return Algorithm::halving_doubling; }
  bool has(CollectiveKind kind) const override;
  std::vector<Round> rounds(CollectiveKind kind, std::int64_t members) const override;
  Schedule schedule(CollectiveKind kind, int members) const override;
};

}  // namespace warploom
