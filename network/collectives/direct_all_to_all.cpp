// SPDX-License-Identifier: Apache-2.0
// Plan and schedule of the direct all-to-all.
#include "network/collectives/direct_all_to_all.hpp"

#include "network/collectives/cost.hpp"

namespace warploom {

Plan DirectAllToAll::plan(const Call& call, const Group& group, const Topology& topology,
                          const LibrarySpec& library) const {
  const std::int64_t n = group.member_count();
  Movement movement;
  movement.pattern = FlowPattern::all_pairs;
  movement.flow_bytes = call.bytes / n;
  movement.steps = 1;
  movement.hbm_bytes = library.copy_hbm_bytes;
  movement.flows_at_once = n - 1;
  return cheapest_plan(call, group, movement, topology, library, "direct");
}

// Chunk i n + j is what rank i has for rank j.
Schedule DirectAllToAll::schedule(int ranks) const {
  Schedule schedule{ranks, ranks * ranks, {}};
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      if (from != to) schedule.transfers.push_back({0, from, to, from * ranks + to, false});
    }
  }
  return schedule;
}

}  // namespace warploom
