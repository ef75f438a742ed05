// SPDX-License-Identifier: Apache-2.0
// Rounds of Bruck's algorithm.
#include "network/collectives/rounds/bruck.hpp"

#include <algorithm>

namespace warploom {

bool BruckRounds::has(CollectiveKind kind) const {
  return kind == CollectiveKind::reduce_scatter || kind == CollectiveKind::all_gather ||
         kind == CollectiveKind::all_reduce || kind == CollectiveKind::all_to_all;
}

std::vector<Round> BruckRounds::rounds(CollectiveKind kind, std::int64_t members) const {
  if (kind == CollectiveKind::all_reduce) return two_passes(*this, members);
  if (kind == CollectiveKind::reduce_scatter) {
    auto rounds = undone(this->rounds(CollectiveKind::all_gather, members));
    for (Round& round : rounds) round.reduces = true;
    return rounds;
  }
  std::vector<Round> rounds;
  for (std::int64_t distance = 1; distance < members; distance *= 2) {
    if (kind == CollectiveKind::all_gather) {
      rounds.push_back({FlowPattern::shift, -distance, std::min(distance, members - distance), 1, 1, false});
      continue;
    }
    // Ways of 1 to n - 1 that have the bit.
    const std::int64_t full = members / (2 * distance) * distance;
    const std::int64_t rest = std::max<std::int64_t>(members % (2 * distance) - distance, 0);
    rounds.push_back({FlowPattern::shift, distance, full + rest, 1, 1, false});
  }
  return rounds;
}

Schedule BruckRounds::schedule(CollectiveKind kind, int members) const {
  if (kind == CollectiveKind::all_reduce) return two_passes_schedule(*this, members);
  if (kind == CollectiveKind::reduce_scatter) {
    Schedule schedule = undone(this->schedule(CollectiveKind::all_gather, members));
    for (Transfer& transfer : schedule.transfers) transfer.reduce = true;
    return schedule;
  }
  const bool is_exchange = kind == CollectiveKind::all_to_all;
  Schedule schedule{members, is_exchange ? members * members : members, {}};
  int step = 0;
  for (int distance = 1; distance < members; distance *= 2, ++step) {
    for (int member = 0; member < members; ++member) {
      if (!is_exchange) {
        for (int piece = 0; piece < std::min(distance, members - distance); ++piece)
          schedule.transfers.push_back(
              {step, (member + distance) % members, member, (member + distance + piece) % members});
        continue;
      }
      for (int way = 1; way < members; ++way) {
        if (way / distance % 2 == 0) continue;
        const int at = (member + way % distance) % members;
        schedule.transfers.push_back(
            {step, at, (at + distance) % members, member * members + (member + way) % members});
      }
    }
  }
  return schedule;
}

}  // namespace warploom
