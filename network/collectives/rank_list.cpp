// SPDX-License-Identifier: Apache-2.0
// Lists as strides, and ranks that come twice.
#include "network/collectives/rank_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "sim/core/errors.hpp"

namespace warploom {

namespace {

// Finds two equal ones. Throws if there are.
void require_distinct(std::span<const Rank> ranks) {
  std::vector<std::pair<Rank, std::size_t>> sorted;
  for (std::size_t i = 0; i < ranks.size(); ++i) sorted.emplace_back(ranks[i], i);
  std::ranges::sort(sorted);
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i].first != sorted[i - 1].first) continue;
    throw UserError(fmt::format("rank {} is in the group twice, as members {} and {}", sorted[i].first,
                                sorted[i - 1].second, sorted[i].second),
                    "a collective has every rank once");
  }
}

}  // namespace

void require_distinct(const RankBox& members, Rank start) {
  std::vector<Stride> digits;
  for (Stride digit : members.digits) {
    if (digit.count > 1) digits.push_back({digit.count, std::abs(digit.stride)});
  }
  std::ranges::sort(digits, {}, &Stride::stride);
  std::int64_t reach = 0;
  bool is_nested = true;
  for (const Stride& digit : digits) {
    is_nested = is_nested && digit.stride > reach;
    reach += (digit.count - 1) * digit.stride;
  }
  if (is_nested) return;
  std::vector<Rank> ranks;
  for (std::int64_t i = 0; i < members.size(); ++i) ranks.push_back(start + members.at(i));
  require_distinct(ranks);
}

Group group_of_ranks(std::span<const Rank> ranks) {
  if (ranks.empty()) throw UserError("a group of no ranks", "name at least one, such as `0,1,2,3`");
  require_distinct(ranks);
  Group group;
  group.instances = {{ranks[0], {}}};
  // The longest run of equal steps is a digit; the first ranks of the runs go on alike.
  std::vector<Rank> firsts(ranks.begin(), ranks.end());
  while (firsts.size() > 1) {
    const Rank stride = firsts[1] - firsts[0];
    std::size_t count = 2;
    while (count < firsts.size() && firsts[count] - firsts[count - 1] == stride) ++count;
    std::vector<Rank> next;
    for (std::size_t i = 0; i < firsts.size(); i += count) next.push_back(firsts[i]);
    for (std::size_t i = 0; i < firsts.size() || firsts.size() % count != 0; ++i) {
      const bool fits = i < firsts.size() && firsts[i] == next[i / count] + static_cast<Rank>(i % count) * stride;
      if (fits) continue;
      throw UserError(fmt::format("the ranks are no regular group: after rank {} a step of {} was expected",
                                  firsts[std::min(i, firsts.size()) - 1], stride),
                      "a group is equal steps, or equal runs of them at equal distances: 0,1,2,3 or 0,1,16,17");
    }
    group.members.digits.push_back({static_cast<std::int64_t>(count), stride});
    firsts = std::move(next);
  }
  return group;
}

}  // namespace warploom
