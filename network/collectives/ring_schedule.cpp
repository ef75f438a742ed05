// SPDX-License-Identifier: Apache-2.0
// Which chunk a rank passes on in which step.
#include "network/collectives/ring_schedule.hpp"

namespace warploom {

namespace {

int modulo(int value, int n) { return (value % n + n) % n; }

void add_ring_pass(Schedule& schedule, int first_step, int offset, bool reduce) {
  const int n = schedule.ranks;
  for (int step = 0; step < n - 1; ++step) {
    for (int rank = 0; rank < n; ++rank) {
      schedule.transfers.push_back(
          {first_step + step, rank, modulo(rank + 1, n), modulo(rank - step - offset, n), reduce});
    }
  }
}

}  // namespace

void add_ring_reduce_scatter(Schedule& schedule, int first_step) { add_ring_pass(schedule, first_step, 1, true); }
void add_ring_all_gather(Schedule& schedule, int first_step) { add_ring_pass(schedule, first_step, 0, false); }

int node_of_schedule(int ranks) {
  int in_node = 1;
  for (int size = 2; size <= 8; ++size) {
    if (ranks % size == 0) in_node = size;
  }
  return in_node;
}

}  // namespace warploom
