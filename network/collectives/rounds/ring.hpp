// SPDX-License-Identifier: Apache-2.0
// The ring: every piece goes from neighbour to neighbour.
//
// Equations, n members, B bytes: n - 1 rounds of B / n each; an all-reduce twice that. Source: Patarasuk and Yuan,
// JPDC 2009; HCCL's Ring, (p-1) a + (p-1)/p B b (hicann/hccl docs/zh/user_guide/coll_algo_intro).
#pragma once

#include "network/collectives/rounds/round_algorithm.hpp"

namespace warploom {

class RingRounds final : public RoundAlgorithm {
 public:
  Algorithm algorithm() const override { return Algorithm::ring; }
  bool has(CollectiveKind kind) const override;
  std::vector<Round> rounds(CollectiveKind kind, std::int64_t members) const override;
  Schedule schedule(CollectiveKind kind, int members) const override;
};

}  // namespace warploom
