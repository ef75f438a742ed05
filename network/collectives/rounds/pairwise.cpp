// SPDX-License-Identifier: Apache-2.0
// Rounds of pairwise exchange.
#include "network/collectives/rounds/pairwise.hpp"

namespace warploom {

namespace {
constexpr std::int64_t most_written = 128;
}

bool PairwiseRounds::has(CollectiveKind kind) const { return kind == CollectiveKind::all_to_all; }

std::vector<Round> PairwiseRounds::rounds(CollectiveKind /*kind*/, std::int64_t members) const {
  if (members > most_written) {
    // Bytes of one round on every pair; no time of its own but the other rounds' latencies.
    return {{FlowPattern::all_pairs, 0, 1, 1, members - 1, false}, {FlowPattern::shift, 1, 0, members - 2, 1, false}};
  }
  std::vector<Round> rounds;
  for (std::int64_t distance = 1; distance < members; ++distance)
    rounds.push_back({FlowPattern::shift, distance, 1, 1, 1, false});
  return rounds;
}

Schedule PairwiseRounds::schedule(CollectiveKind /*kind*/, int members) const {
  Schedule schedule{members, members * members, {}};
  for (int distance = 1; distance < members; ++distance) {
    for (int from = 0; from < members; ++from) {
      const int to = (from + distance) % members;
      schedule.transfers.push_back({distance - 1, from, to, from * members + to});
    }
  }
  return schedule;
}

}  // namespace warploom
