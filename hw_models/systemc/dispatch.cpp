// SPDX-License-Identifier: Apache-2.0
// Plays the dispatch of blocks by their turns alone, to find the SM that stands for all.
#include "hw_models/systemc/dispatch.hpp"

#include <algorithm>
#include <compare>
#include <functional>
#include <queue>
#include <utility>

namespace warploom::detailed {

namespace {

// More blocks than this are dispatched in bunches.
constexpr std::int64_t most_dispatched = 400'000;

BlockGroup blocks_of(const BlockGroup& group, std::int64_t blocks) {
  BlockGroup some = group;
  some.blocks = blocks;
  return some;
}

void append(std::vector<BlockRun>& runs, const BlockRun& run) {
  if (run.group.blocks <= 0) return;
  const bool is_alike =
      !runs.empty() && blocks_of(runs.back().group, 1) == blocks_of(run.group, 1) && runs.back().load == run.load;
  if (is_alike) {
    runs.back().group.blocks += run.group.blocks;
  } else {
    runs.push_back(run);
  }
}

std::vector<BlockRun> equal_blocks(const BlockGroup& group, int sms, int places) {
  const std::int64_t all = static_cast<std::int64_t>(sms) * places;
  const std::int64_t rest = group.blocks % all;
  std::vector<BlockRun> runs;
  append(runs, {blocks_of(group, group.blocks / all * places), 1});
  // The busiest SM has one more of the last blocks than others, and its part of the memories goes by blocks.
  const std::int64_t own = (rest + sms - 1) / sms;
  const auto as_many_everywhere = static_cast<double>(std::max<std::int64_t>(own, 1) * sms);
  append(runs, {blocks_of(group, own), static_cast<double>(rest) / as_many_everywhere});
  return runs;
}

// Blocks of many lengths are played as so many of two lengths that have as many turns in all: turns are alike. Not
// those whose turns are of several kinds.
std::vector<BlockRun> evened(const std::vector<BlockRun>& runs) {
  constexpr std::size_t most_lengths = 4;
  if (runs.size() <= most_lengths || runs.front().group.work > 0) return runs;
  std::int64_t blocks = 0;
  std::int64_t turns = 0;
  double load = 0;
  for (const BlockRun& run : runs) {
    blocks += run.group.blocks;
    turns += run.group.blocks * run.group.turns;
    load += static_cast<double>(run.group.blocks) * block_work(run.group) * run.load;
  }
  load /= static_cast<double>(turns) + static_cast<double>(blocks) * block_work(0);
  std::vector<BlockRun> even;
  append(even, {{.blocks = turns % blocks, .turns = turns / blocks + 1}, load});
  append(even, {{.blocks = blocks - turns % blocks, .turns = turns / blocks}, load});
  return even;
}

struct Dispatched {
  double start;
  BlockGroup group;
};

// A place for a block on an SM, and when it is free. SMs' first places are filled first, as in chip.cpp.
struct Place {
  double free_at;
  int place;
  int sm;
  auto operator<=>(const Place&) const = default;
};

}  // namespace

BlockRun OwnBlocks::next() {
  BlockRun& run = runs_[at_];
  const BlockRun one{blocks_of(run.group, 1), run.load};
  if (--run.group.blocks == 0) ++at_;
  return one;
}

BlockRun SharedBlocks::next() {
  BlockGroup& group = groups_[at_];
  const BlockRun one{blocks_of(group, 1), 1};
  if (--group.blocks == 0) ++at_;
  return one;
}

std::vector<BlockRun> busiest_sm(const std::vector<BlockGroup>& groups, int sms, int places) {
  if (groups.size() == 1) return equal_blocks(groups.front(), sms, places);
  std::int64_t total = 0;
  for (const BlockGroup& group : groups) total += group.blocks;
  const std::int64_t bunch = (total + most_dispatched - 1) / most_dispatched;
  std::priority_queue<Place, std::vector<Place>, std::greater<>> free;
  for (int place = 0; place < places; ++place) {
    for (int sm = 0; sm < sms; ++sm) free.push({0, place, sm});
  }
  std::vector<std::vector<Dispatched>> got(sms);
  std::vector<double> ends(sms, 0);
  for (const BlockGroup& group : groups) {
    for (std::int64_t left = group.blocks; left > 0; left -= bunch) {
      const std::int64_t blocks = std::min(left, bunch);
      const auto [start, place, sm] = free.top();
      free.pop();
      const double end = start + static_cast<double>(blocks) * block_work(group);
      got[sm].push_back({start, blocks_of(group, blocks)});
      ends[sm] = std::max(ends[sm], end);
      free.push({end, place, sm});
    }
  }
  const auto last = std::ranges::max_element(ends) - ends.begin();
  std::vector<double> sorted = ends;
  std::ranges::sort(sorted);
  std::vector<BlockRun> runs;
  for (const Dispatched& block : got[last]) {
    const auto at_work = static_cast<double>(sorted.end() - std::ranges::upper_bound(sorted, block.start));
    append(runs, {block.group, at_work / sms});
  }
  return evened(runs);
}

}  // namespace warploom::detailed
