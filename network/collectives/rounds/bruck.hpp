// SPDX-License-Identifier: Apache-2.0
// Bruck's algorithm: all-gather and all-to-all in ceil(log2 n) rounds for any n; HCCL's NB (non-uniform Bruck).
//
// Equations: all-gather, round k: i gets from i + 2^k the min(2^k, n - 2^k) pieces that follow its own; (n-1)/n B in
// all, the far members send most. Reduce-scatter backwards. All-to-all, round k: i passes to i + 2^k all blocks whose
// way still has bit k: about n/2 of B / n, log2(n) / 2 B in all, for fewer messages. Source: Bruck et al., IEEE TPDS
// 1997.
#pragma once

#include "network/collectives/rounds/round_algorithm.hpp"

namespace warploom {

class BruckRounds final : public RoundAlgorithm {
 public:
  Algorithm algorithm() const override { return Algorithm::bruck; }
  bool has(CollectiveKind kind) const override;
  std::vector<Round> rounds(CollectiveKind kind, std::int64_t members) const override;
  Schedule schedule(CollectiveKind kind, int members) const override;
};

}  // namespace warploom
