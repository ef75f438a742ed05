// SPDX-License-Identifier: Apache-2.0
// Plans and schedules of calls with a root.
#include "network/collectives/rooted.hpp"

#include "network/collectives/pace.hpp"

namespace warploom {

bool RingReduce::is_possible(const Setting& setting, Protocol protocol) const {
  return protocol_of(setting.library, protocol).enabled;
}

// The chain backwards loads the same links alike.
Plan RingReduce::plan(const Setting& setting, Protocol protocol) const {
  Movement movement;
  movement.pattern = FlowPattern::chain;
  movement.flow_bytes = setting.call.bytes;
  movement.steps = setting.ranks() - 1;
  movement.hbm_bytes = setting.library.reduce_hbm_bytes;
  return ring_plan(setting, protocol, movement);
}

Schedule RingReduce::schedule(int ranks) const {
  constexpr int pieces = 4;
  Schedule schedule{ranks, pieces, {}};
  for (int piece = 0; piece < pieces; ++piece) {
    for (int rank = ranks - 1; rank > 0; --rank)
      schedule.transfers.push_back({piece + ranks - 1 - rank, rank, rank - 1, piece, true});
  }
  return schedule;
}

Messages DirectGather::messages(const Setting& setting) const {
  const std::int64_t n = setting.ranks();
  return {FlowPattern::gather, setting.call.bytes / n, n - 1, false, true};
}

Schedule DirectGather::schedule(int ranks) const {
  Schedule schedule{ranks, ranks, {}};
  for (int rank = 1; rank < ranks; ++rank) schedule.transfers.push_back({0, rank, 0, rank});
  return schedule;
}

Messages DirectScatter::messages(const Setting& setting) const {
  const std::int64_t n = setting.ranks();
  return {FlowPattern::scatter, setting.call.bytes / n, n - 1};
}

Schedule DirectScatter::schedule(int ranks) const {
  Schedule schedule{ranks, ranks, {}};
  for (int rank = 1; rank < ranks; ++rank) schedule.transfers.push_back({0, 0, rank, rank});
  return schedule;
}

}  // namespace warploom
