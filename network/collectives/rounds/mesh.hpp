// SPDX-License-Identifier: Apache-2.0
// The full mesh: every member sends each other its piece, all at once.
//
// Equations: one round of B / n on each of the n - 1 ways; an all-reduce two. Source: HCCL's Mesh, a + B b / p a link
// of the mesh (hicann/hccl docs/zh/user_guide/coll_algo_intro).
#pragma once

#include "network/collectives/rounds/round_algorithm.hpp"

namespace warploom {

class MeshRounds final : public RoundAlgorithm {
 public:
  Algorithm algorithm() const override { return Algorithm::mesh; }
  bool has(CollectiveKind kind) const override;
  std::vector<Round> rounds(CollectiveKind kind, std::int64_t members) const override;
  Schedule schedule(CollectiveKind kind, int members) const override;
};

}  // namespace warploom
