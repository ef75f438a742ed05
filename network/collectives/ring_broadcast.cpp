// SPDX-License-Identifier: Apache-2.0
// Plan and schedule of the pipelined broadcast.
#include "network/collectives/ring_broadcast.hpp"

#include "network/collectives/cost.hpp"

namespace warploom {

Plan RingBroadcast::plan(const Call& call, const Group& group, const Topology& topology,
                         const LibrarySpec& library) const {
  Movement movement;
  movement.pattern = FlowPattern::chain;
  movement.flow_bytes = call.bytes;
  movement.steps = group.member_count() - 1;
  movement.hbm_bytes = library.copy_hbm_bytes;
  return cheapest_plan(call, group, movement, topology, library, "ring");
}

Schedule RingBroadcast::schedule(int ranks) const {
  constexpr int pieces = 4;
  Schedule schedule{ranks, pieces, {}};
  for (int piece = 0; piece < pieces; ++piece) {
    for (int rank = 0; rank + 1 < ranks; ++rank)
      schedule.transfers.push_back({piece + rank, rank, rank + 1, piece, false});
  }
  return schedule;
}

}  // namespace warploom
