// SPDX-License-Identifier: Apache-2.0
// Plan and schedule of the ring reduce-scatter.
#include "network/collectives/ring_reduce_scatter.hpp"

#include "network/collectives/pace.hpp"
#include "network/collectives/ring_schedule.hpp"

namespace warploom {

bool RingReduceScatter::is_possible(const Setting& setting, Protocol protocol) const {
  return protocol_of(setting.library, protocol).enabled;
}

Plan RingReduceScatter::plan(const Setting& setting, Protocol protocol) const {
  const std::int64_t n = setting.ranks();
  Movement movement;
  movement.pattern = FlowPattern::ring;
  movement.flow_bytes = setting.call.bytes * (n - 1) / n;
  movement.steps = n - 1;
  movement.hbm_bytes = setting.library.reduce_hbm_bytes;
  return ring_plan(setting, protocol, movement);
}

Schedule RingReduceScatter::schedule(int ranks) const {
  Schedule schedule{ranks, ranks, {}};
  add_ring_reduce_scatter(schedule, 0);
  return schedule;
}

}  // namespace warploom
