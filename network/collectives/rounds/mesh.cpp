// SPDX-License-Identifier: Apache-2.0
// Rounds of the full mesh.
#include "network/collectives/rounds/mesh.hpp"

namespace warploom {

bool MeshRounds::has(CollectiveKind kind) const {
  return kind == CollectiveKind::reduce_scatter || kind == CollectiveKind::all_gather ||
         kind == CollectiveKind::all_reduce || kind == CollectiveKind::all_to_all;
}

std::vector<Round> MeshRounds::rounds(CollectiveKind kind, std::int64_t members) const {
  if (kind == CollectiveKind::all_reduce) return two_passes(*this, members);
  return {{FlowPattern::all_pairs, 0, 1, 1, members - 1, kind == CollectiveKind::reduce_scatter}};
}

Schedule MeshRounds::schedule(CollectiveKind kind, int members) const {
  if (kind == CollectiveKind::all_reduce) return two_passes_schedule(*this, members);
  const bool is_exchange = kind == CollectiveKind::all_to_all;
  Schedule schedule{members, is_exchange ? members * members : members, {}};
  for (int from = 0; from < members; ++from) {
    for (int to = 0; to < members; ++to) {
      if (from == to) continue;
      const bool reduces = kind == CollectiveKind::reduce_scatter;
      const int chunk = is_exchange ? from * members + to : reduces ? to : from;
      schedule.transfers.push_back({0, from, to, chunk, reduces});
    }
  }
  return schedule;
}

}  // namespace warploom
