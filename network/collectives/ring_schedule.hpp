// SPDX-License-Identifier: Apache-2.0
// The two halves of which ring algorithms are made, and the nodes that schedules of several levels are proven with.
#pragma once

#include "network/collectives/collective.hpp"

namespace warploom {

// n - 1 steps; in step s rank i passes chunk i - s - 1 on, reduced; in the end rank i has chunk i complete.
void add_ring_reduce_scatter(Schedule& schedule, int first_step);
// n - 1 steps; in step s rank i passes chunk i - s on, beginning with its own.
void add_ring_all_gather(Schedule& schedule, int first_step);
// Ranks of a node: the largest divisor up to 8.
int node_of_schedule(int ranks);

}  // namespace warploom
