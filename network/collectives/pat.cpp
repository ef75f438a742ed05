// SPDX-License-Identifier: Apache-2.0
// Plan and schedule of PAT.
#include "network/collectives/pat.hpp"

#include <algorithm>
#include <map>

#include "network/collectives/channels.hpp"
#include "network/collectives/pace.hpp"
#include "network/collectives/round_plan.hpp"

namespace warploom {

namespace detail {

bool is_pat_possible(const Setting& setting, Protocol protocol) {
  return protocol == Protocol::simple && setting.library.simple.enabled && setting.profile.nodes == setting.ranks();
}

std::int64_t pat_aggregation(const Setting& setting, Protocol chosen) {
  const ProtocolSpec& protocol = protocol_of(setting.library, chosen);
  const auto use = channels_for(setting.call.bytes, most_channels(setting), protocol, setting.ranks());
  const std::int64_t piece = std::max<std::int64_t>(setting.call.bytes.count() / setting.ranks(), 1);
  return std::max<std::int64_t>(protocol.chunk.count() * use.channels / piece, 1);
}

Plan pat_plan(const Setting& setting, Protocol protocol) {
  const std::int64_t most = pat_aggregation(setting, protocol);
  std::vector<Round> rounds;
  for (Round round : NhrRounds().rounds(setting.call.kind, setting.ranks())) {
    const std::int64_t pieces = round.pieces;
    if (pieces >= most) {
      round.repeats = pieces / most;
      round.pieces = most;
      rounds.push_back(round);
    }
    round.repeats = 1;
    round.pieces = pieces % most;
    if (round.pieces > 0) rounds.push_back(round);
  }
  const double piece = static_cast<double>(setting.call.bytes.count()) / static_cast<double>(setting.ranks());
  return round_plan(setting, protocol, {{rounds, {}, piece}});
}

}  // namespace detail

Schedule pat_schedule(CollectiveKind kind, int ranks) {
  Schedule schedule = NhrRounds().schedule(kind, ranks);
  std::ranges::stable_sort(schedule.transfers, {}, &Transfer::step);
  // A message's worth of a round's transfers a step.
  int steps = 0;
  for (std::size_t i = 0; i < schedule.transfers.size();) {
    const int round = schedule.transfers[i].step;
    std::map<int, int> sent;
    int last = steps;
    for (; i < schedule.transfers.size() && schedule.transfers[i].step == round; ++i) {
      Transfer& transfer = schedule.transfers[i];
      transfer.step = steps + sent[transfer.from]++ / pat_pieces_for_proof;
      last = std::max(last, transfer.step);
    }
    steps = last + 1;
  }
  return schedule;
}

}  // namespace warploom
