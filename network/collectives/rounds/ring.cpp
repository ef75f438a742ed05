// SPDX-License-Identifier: Apache-2.0
// Rounds of the ring.
#include "network/collectives/rounds/ring.hpp"

#include "network/collectives/ring_schedule.hpp"

namespace warploom {

bool RingRounds::has(CollectiveKind kind) const {
  return kind == CollectiveKind::reduce_scatter || kind == CollectiveKind::all_gather ||
         kind == CollectiveKind::all_reduce;
}

std::vector<Round> RingRounds::rounds(CollectiveKind kind, std::int64_t members) const {
  if (kind == CollectiveKind::all_reduce) return two_passes(*this, members);
  return {{FlowPattern::ring, 0, 1, members - 1, 1, kind == CollectiveKind::reduce_scatter}};
}

Schedule RingRounds::schedule(CollectiveKind kind, int members) const {
  if (kind == CollectiveKind::all_reduce) return two_passes_schedule(*this, members);
  Schedule schedule{members, members, {}};
  if (kind == CollectiveKind::reduce_scatter) {
    add_ring_reduce_scatter(schedule, 0);
  } else {
    add_ring_all_gather(schedule, 0);
  }
  return schedule;
}

}  // namespace warploom
