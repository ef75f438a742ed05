// SPDX-License-Identifier: Apache-2.0
// Plan and schedule of the ring all-gather.
#include "network/collectives/ring_all_gather.hpp"

#include "network/collectives/cost.hpp"
#include "network/collectives/ring_schedule.hpp"

namespace warploom {

Plan RingAllGather::plan(const Call& call, const Group& group, const Topology& topology,
                         const LibrarySpec& library) const {
  const std::int64_t n = group.member_count();
  Movement movement;
  movement.pattern = FlowPattern::ring;
  movement.flow_bytes = call.bytes * (n - 1) / n;
  movement.steps = n - 1;
  movement.hbm_bytes = library.copy_hbm_bytes;
  return cheapest_plan(call, group, movement, topology, library, "ring");
}

Schedule RingAllGather::schedule(int ranks) const {
  Schedule schedule{ranks, ranks, {}};
  add_ring_all_gather(schedule, 0);
  return schedule;
}

}  // namespace warploom
