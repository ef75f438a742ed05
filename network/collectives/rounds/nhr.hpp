// SPDX-License-Identifier: Apache-2.0
// NHR, the non-uniform hierarchical ring: a binomial tree for every piece, all n at once.
//
// Equations: the piece of member c is o = (c - i) mod n away from member i. Reduce-scatter, round k = 0 .. ceil(log2 n)
// - 1: i sends to i + 2^k the pieces with o mod 2^(k+1) = 2^k, floor((n - 1 + 2^k) / 2^(k+1)) of them: n - 1 in all,
// half of them to the next member. Any n. The all-gather is that backwards. ceil(log2 p) a + (p-1)/p B b. Source:
// HCCL's NHR (hicann/hccl docs/zh/user_guide/coll_algo_intro); the number of slices as in its code.
#pragma once

#include "network/collectives/rounds/round_algorithm.hpp"

namespace warploom {

class NhrRounds final : public RoundAlgorithm {
 public:
  Algorithm algorithm() const override { return Algorithm::nhr; }
  bool has(CollectiveKind kind) const override;
  std::vector<Round> rounds(CollectiveKind kind, std::int64_t members) const override;
  Schedule schedule(CollectiveKind kind, int members) const override;
};

}  // namespace warploom
