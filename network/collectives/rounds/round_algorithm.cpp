// SPDX-License-Identifier: Apache-2.0
// Passes after each other and backwards.
#include "network/collectives/rounds/round_algorithm.hpp"

#include <algorithm>

namespace warploom {

int step_count(const Schedule& schedule) {
  int count = 0;
  for (const Transfer& transfer : schedule.transfers) count = std::max(count, transfer.step + 1);
  return count;
}

std::vector<Round> two_passes(const RoundAlgorithm& algorithm, std::int64_t members) {
  std::vector<Round> rounds = algorithm.rounds(CollectiveKind::reduce_scatter, members);
  const auto back = algorithm.rounds(CollectiveKind::all_gather, members);
  rounds.insert(rounds.end(), back.begin(), back.end());
  return rounds;
}

Schedule two_passes_schedule(const RoundAlgorithm& algorithm, int members) {
  Schedule schedule = algorithm.schedule(CollectiveKind::reduce_scatter, members);
  const int steps = step_count(schedule);
  for (Transfer transfer : algorithm.schedule(CollectiveKind::all_gather, members).transfers) {
    transfer.step += steps;
    schedule.transfers.push_back(transfer);
  }
  return schedule;
}

std::vector<Round> undone(std::vector<Round> rounds) {
  std::ranges::reverse(rounds);
  for (Round& round : rounds) {
    if (round.pattern == FlowPattern::shift) round.distance = -round.distance;
    if (round.pattern == FlowPattern::fold) {
      round.pattern = FlowPattern::unfold;
    } else if (round.pattern == FlowPattern::unfold) {
      round.pattern = FlowPattern::fold;
    }
    round.reduces = false;
  }
  return rounds;
}

Schedule undone(const Schedule& schedule) {
  Schedule back{schedule.ranks, schedule.chunks, {}};
  const int last = step_count(schedule) - 1;
  for (const Transfer& transfer : schedule.transfers)
    back.transfers.push_back({last - transfer.step, transfer.to, transfer.from, transfer.chunk, false});
  return back;
}

}  // namespace warploom
