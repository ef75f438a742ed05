// SPDX-License-Identifier: Apache-2.0
// Rounds of NHR.
#include "network/collectives/rounds/nhr.hpp"

namespace warploom {

bool NhrRounds::has(CollectiveKind kind) const {
  return kind == CollectiveKind::reduce_scatter || kind == CollectiveKind::all_gather ||
         kind == CollectiveKind::all_reduce;
}

std::vector<Round> NhrRounds::rounds(CollectiveKind kind, std::int64_t members) const {
  if (kind == CollectiveKind::all_reduce) return two_passes(*this, members);
  if (kind == CollectiveKind::all_gather) return undone(rounds(CollectiveKind::reduce_scatter, members));
  std::vector<Round> rounds;
  for (std::int64_t distance = 1; distance < members; distance *= 2)
    rounds.push_back({FlowPattern::shift, distance, (members - 1 + distance) / (2 * distance), 1, 1, true});
  return rounds;
}

Schedule NhrRounds::schedule(CollectiveKind kind, int members) const {
  if (kind == CollectiveKind::all_reduce) return two_passes_schedule(*this, members);
  if (kind == CollectiveKind::all_gather) return undone(schedule(CollectiveKind::reduce_scatter, members));
  Schedule schedule{members, members, {}};
  int step = 0;
  for (int distance = 1; distance < members; distance *= 2, ++step) {
    for (int from = 0; from < members; ++from) {
      for (int offset = distance; offset < members; offset += 2 * distance)
        schedule.transfers.push_back({step, from, (from + distance) % members, (from + offset) % members, true});
    }
  }
  return schedule;
}

}  // namespace warploom
