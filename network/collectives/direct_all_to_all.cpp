// SPDX-License-Identifier: Apache-2.0
// Plan and schedule of the direct all-to-all.
#include "network/collectives/direct_all_to_all.hpp"

namespace warploom {

Messages DirectAllToAll::messages(const Setting& setting) const {
  const std::int64_t n = setting.ranks();
  return {FlowPattern::all_pairs, setting.call.bytes / n, n - 1, true};
}

// Chunk i n + j is what rank i has for rank j.
Schedule DirectAllToAll::schedule(int ranks) const {
  Schedule schedule{ranks, ranks * ranks, {}};
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      if (from != to) schedule.transfers.push_back({0, from, to, from * ranks + to, false});
    }
  }
  return schedule;
}

}  // namespace warploom
