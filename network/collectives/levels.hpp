// SPDX-License-Identifier: Apache-2.0
// Collectives in levels: each level of the network, from the node outwards, has an algorithm of its own.
//
// Equations, levels of k1, k2, .. members, B bytes: reduce-scatter on level 1 of B, on level 2 of B / k1, ...;
// all-gather backwards; all-reduce: reduce-scatter on all levels but the last, all-reduce of B / (k1 k2 ..) there,
// all-gather backwards; all-to-all: on each level, everything that must change its place there: B to the k places in
// equal parts. The levels follow each other. Source: HCCL's hierarchical algorithms (hicann/hccl
// docs/zh/user_guide/coll_algo_intro); BlueConnect (Cho et al., MLSys 2019); DeepSpeed-MoE's hierarchical all-to-all
// (arXiv:2201.05596).
#pragma once

#include <optional>
#include <vector>

#include "network/collectives/round_plan.hpp"

namespace warploom {

struct Level {
  Axis axis;
  const RoundAlgorithm* algorithm = nullptr;
};

// The lines of the members in a node, of the nodes (depth 2), or of those under one first switch and of the rest (depth
// 3). Empty where the group has no such levels: all in one node, one a node, unequal shares.
std::vector<Axis> levels_of(const Setting& setting, int depth);

std::vector<Phase> phases_of(const std::vector<Level>& levels, CollectiveKind kind, Bytes bytes);

// Of ranks numbered with level 1 fastest; the axes' counts multiply to them.
Schedule level_schedule(const std::vector<Level>& levels, CollectiveKind kind, int ranks);

// Levels for a proof: a node of the largest divisor up to 8, and so on.
std::vector<Axis> levels_for_proof(int ranks, int depth);

}  // namespace warploom
