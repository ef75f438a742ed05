// SPDX-License-Identifier: Apache-2.0
// Plan and schedule of the pipelined broadcast.
#include "network/collectives/ring_broadcast.hpp"

#include "network/collectives/pace.hpp"

namespace warploom {

bool RingBroadcast::is_possible(const Setting& setting, Protocol protocol) const {
  return protocol_of(setting.library, protocol).enabled;
}

Plan RingBroadcast::plan(const Setting& setting, Protocol protocol) const {
  const std::int64_t n = setting.ranks();
  Movement movement;
  movement.pattern = FlowPattern::chain;
  movement.flow_bytes = setting.call.bytes;
  movement.steps = n - 1;
  movement.hbm_bytes = setting.library.copy_hbm_bytes;
  return ring_plan(setting, protocol, movement);
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
