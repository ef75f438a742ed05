// SPDX-License-Identifier: Apache-2.0
// Plan and schedule of the direct all-to-all.
#include "network/collectives/direct_all_to_all.hpp"

#include "network/collectives/peer.hpp"

namespace warploom {

bool DirectAllToAll::is_possible(const Setting& /*setting*/, Protocol protocol) const {
  return protocol != Protocol::ll128;
}

bool DirectAllToAll::is_offered(const Setting& setting, Protocol protocol) const {
  return protocol == peer_protocol(setting, setting.call.bytes / setting.ranks());
}

Plan DirectAllToAll::plan(const Setting& setting, Protocol protocol) const {
  const std::int64_t n = setting.ranks();
  return peer_plan(setting, protocol, {FlowPattern::all_pairs, setting.call.bytes / n, n - 1, true});
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
