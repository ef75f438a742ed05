// SPDX-License-Identifier: Apache-2.0
// Plan and schedule of the ring all-gather.
#include "network/collectives/ring_all_gather.hpp"

#include "network/collectives/pace.hpp"
#include "network/collectives/ring_schedule.hpp"

namespace warploom {

bool RingAllGather::is_possible(const Setting& setting, Protocol protocol) const {
  return protocol_of(setting.library, protocol).enabled;
}

Plan RingAllGather::plan(const Setting& setting, Protocol protocol) const {
  const std::int64_t n = setting.ranks();
  Movement movement;
  movement.pattern = FlowPattern::ring;
  movement.flow_bytes = setting.call.bytes * (n - 1) / n;
  movement.steps = n - 1;
  movement.hbm_bytes = setting.library.copy_hbm_bytes;
  return ring_plan(setting, protocol, movement);
}

Schedule RingAllGather::schedule(int ranks) const {
  Schedule schedule{ranks, ranks, {}};
  add_ring_all_gather(schedule, 0);
  return schedule;
}

}  // namespace warploom
