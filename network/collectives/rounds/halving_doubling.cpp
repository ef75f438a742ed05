// SPDX-License-Identifier: Apache-2.0
// Rounds of halving and doubling.
#include "network/collectives/rounds/halving_doubling.hpp"

#include "network/fabrics/flows.hpp"

namespace warploom {

bool HalvingDoublingRounds::has(CollectiveKind kind) const {
  return kind == CollectiveKind::reduce_scatter || kind == CollectiveKind::all_gather ||
         kind == CollectiveKind::all_reduce;
}

namespace {

// Of the members that are paired; those left over have given theirs.
std::vector<Round> halving(std::int64_t members) {
  const std::int64_t paired = power_of_two_below(members);
  const std::int64_t left = members - paired;
  std::vector<Round> rounds;
  for (std::int64_t distance = 1; distance < paired; distance *= 2) {
    const std::int64_t pieces = paired / (2 * distance) + (left + 2 * distance - 1) / (2 * distance);
    rounds.push_back({FlowPattern::exchange, distance, pieces, 1, 1, true});
  }
  return rounds;
}

// Every piece c counts as c mod p.
Schedule halving_schedule(int members, int first_step) {
  const int paired = static_cast<int>(power_of_two_below(members));
  Schedule schedule{members, members, {}};
  int step = first_step;
  for (int distance = 1; distance < paired; distance *= 2, ++step) {
    for (int member = 0; member < paired; ++member) {
      for (int piece = 0; piece < members; ++piece) {
        const int differs = (piece % paired) ^ member;
        if (differs % (2 * distance) == distance)
          schedule.transfers.push_back({step, member, member ^ distance, piece, true});
      }
    }
  }
  return schedule;
}

void add_leftovers(Schedule& schedule, int step, bool gives, bool whole) {
  const int paired = static_cast<int>(power_of_two_below(schedule.ranks));
  for (int member = paired; member < schedule.ranks; ++member) {
    for (int piece = 0; piece < schedule.chunks; ++piece) {
      if (!whole && piece != member) continue;
      schedule.transfers.push_back(
          {step, gives ? member : member - paired, gives ? member - paired : member, piece, gives && whole});
    }
  }
}

}  // namespace

std::vector<Round> HalvingDoublingRounds::rounds(CollectiveKind kind, std::int64_t members) const {
  const bool has_leftovers = members != power_of_two_below(members);
  std::vector<Round> rounds;
  if (kind == CollectiveKind::all_gather) return undone(this->rounds(CollectiveKind::reduce_scatter, members));
  if (has_leftovers) rounds.push_back({FlowPattern::fold, 0, members, 1, 1, true});
  const auto there = halving(members);
  rounds.insert(rounds.end(), there.begin(), there.end());
  const bool is_whole = kind == CollectiveKind::all_reduce;
  if (is_whole) {
    const auto back = undone(there);
    rounds.insert(rounds.end(), back.begin(), back.end());
  }
  if (has_leftovers) rounds.push_back({FlowPattern::unfold, 0, is_whole ? members : 1, 1, 1, false});
  return rounds;
}

Schedule HalvingDoublingRounds::schedule(CollectiveKind kind, int members) const {
  if (kind == CollectiveKind::all_gather) return undone(schedule(CollectiveKind::reduce_scatter, members));
  Schedule schedule{members, members, {}};
  add_leftovers(schedule, 0, true, true);
  const Schedule there = halving_schedule(members, 1);
  schedule.transfers.insert(schedule.transfers.end(), there.transfers.begin(), there.transfers.end());
  int steps = std::max(step_count(schedule), 1);
  if (kind == CollectiveKind::all_reduce) {
    const int last = steps - 1;
    for (const Transfer& t : there.transfers)
      schedule.transfers.push_back({steps + last - t.step, t.to, t.from, t.chunk});
    steps = step_count(schedule);
  }
  add_leftovers(schedule, steps, false, kind == CollectiveKind::all_reduce);
  return schedule;
}

}  // namespace warploom
