// SPDX-License-Identifier: Apache-2.0
// Pairwise: in round s every member sends to the one s further, a message at a time.
//
// Equations: all-to-all, n - 1 rounds of B / n each, (n-1) a + sum of the messages b (HCCL's Pairwise). Above
// 128 members the rounds are not written one by one: all pairs at once stand for them, with the latency of
// n - 1 rounds. Source: hicann/hccl docs/zh/user_guide/coll_algo_intro; Thakur et al., IJHPCA 2005.
#pragma once

#include "network/collectives/rounds/round_algorithm.hpp"

namespace warploom {

class PairwiseRounds final : public RoundAlgorithm {
 public:
  Algorithm algorithm() const override { return Algorithm::pairwise; }
  bool has(CollectiveKind kind) const override;
  std::vector<Round> rounds(CollectiveKind kind, std::int64_t members) const override;
  Schedule schedule(CollectiveKind kind, int members) const override;
};

}  // namespace warploom
