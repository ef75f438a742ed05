// SPDX-License-Identifier: Apache-2.0
// Plan and schedule of the ring all-reduce.
#include "network/collectives/ring_all_reduce.hpp"

#include "network/collectives/pace.hpp"
#include "network/collectives/ring_schedule.hpp"

namespace warploom {

bool RingAllReduce::is_possible(const Setting& setting, Protocol protocol) const {
  return protocol_of(setting.library, protocol).enabled;
}

Plan RingAllReduce::plan(const Setting& setting, Protocol protocol) const {
  const std::int64_t n = setting.ranks();
  Movement movement;
  movement.pattern = FlowPattern::ring;
  movement.flow_bytes = setting.call.bytes * (2 * (n - 1)) / n;
  movement.steps = 2 * (n - 1);
  movement.passes = 2;
  movement.hbm_bytes = (setting.library.reduce_hbm_bytes + setting.library.copy_hbm_bytes) / 2;
  return ring_plan(setting, protocol, movement);
}

Schedule RingAllReduce::schedule(int ranks) const {
  Schedule schedule{ranks, ranks, {}};
  add_ring_reduce_scatter(schedule, 0);
  add_ring_all_gather(schedule, ranks - 1);
  return schedule;
}

}  // namespace warploom
