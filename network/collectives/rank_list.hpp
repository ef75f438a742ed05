// SPDX-License-Identifier: Apache-2.0
// A group from a list of ranks, in the order of its members: as strides, which a regular list is.
#pragma once

#include <span>

#include "sim/work/group.hpp"

namespace warploom {

// Throws UserError for an empty list, a rank that comes twice, and a list that is no nest of equal steps (0 1 16 17 is,
// 0 1 3 is not).
Group group_of_ranks(std::span<const Rank> ranks);

// Throws UserError that names the rank and its member numbers if it comes twice.
void require_distinct(const RankBox& members, Rank start);

}  // namespace warploom
