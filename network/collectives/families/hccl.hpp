// SPDX-License-Identifier: Apache-2.0
// HCCL (Ascend): inside a server the algorithm of level 0, between servers the one of least cost.
//
// Equations: the cost is alpha-beta-gamma over the rounds of all levels (round_plan.hpp): the time that the plan takes
// where no link is shared. Between servers: ring, halving-doubling, NHR, NB (here `bruck`), pipeline; all-to-all:
// pairwise, in a server the mesh. Source: hicann/hccl docs/zh/user_guide/coll_algo_intro and HCCL_ALGO.
#pragma once

#include "network/collectives/families.hpp"

namespace warploom {

class HcclFamily final : public LibraryFamily {
 public:
  bool has(const Setting& setting, const Collective& collective) const override;
  bool offers(const Setting& setting, const Collective& collective, Protocol protocol) const override;
  Time estimate(const Setting& setting, const Collective& collective, Protocol protocol) const override;
};

}  // namespace warploom
