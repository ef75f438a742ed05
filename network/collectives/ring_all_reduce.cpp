// SPDX-License-Identifier: Apache-2.0
// Plan and schedule of the ring all-reduce.
#include "network/collectives/ring_all_reduce.hpp"

#include "network/collectives/cost.hpp"
#include "network/collectives/ring_schedule.hpp"

namespace warploom {

Plan RingAllReduce::plan(const Call& call, const Group& group, const Topology& topology,
                         const LibrarySpec& library) const {
  const std::int64_t n = group.member_count();
  Movement movement;
  movement.pattern = FlowPattern::ring;
  movement.flow_bytes = call.bytes * (2 * (n - 1)) / n;
  movement.steps = 2 * (n - 1);
  movement.passes = 2;
  movement.hbm_bytes = (library.reduce_hbm_bytes + library.copy_hbm_bytes) / 2;
  return cheapest_plan(call, group, movement, topology, library, "ring");
}

Schedule RingAllReduce::schedule(int ranks) const {
  Schedule schedule{ranks, ranks, {}};
  add_ring_reduce_scatter(schedule, 0);
  add_ring_all_gather(schedule, ranks - 1);
  return schedule;
}

}  // namespace warploom
