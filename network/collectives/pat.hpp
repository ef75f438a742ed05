// SPDX-License-Identifier: Apache-2.0
// PAT, NCCL's parallel aggregated trees: a binomial tree for every rank's part, messages of bounded size.
//
// Equations: the rounds of NHR (rounds/nhr.hpp), far ones small; a round whose pieces do not fit one buffer of a
// channel (the protocol's chunk) in all channels is sent in several messages, each with a latency of its own. Time:
// start + messages x (hop or network_hop) + (n-1)/n B / rate. Source: NCCL 2.30.7 src/graph/tuning.cc,
// src/device/all_gather.h; Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at scale"
// (arXiv:2506.20252). NCCL takes it where a node has one member only (ncclPatEnable: nNodes == nRanks), under Simple;
// `pat` of the library turns it on.
#pragma once

#include "network/collectives/rounds/nhr.hpp"

namespace warploom {

namespace detail {
bool is_pat_possible(const Setting& setting, Protocol protocol);
Plan pat_plan(const Setting& setting, Protocol protocol);
// Pieces that one message holds.
std::int64_t pat_aggregation(const Setting& setting, Protocol protocol);
}  // namespace detail

// The proof's messages hold this many pieces.
inline constexpr int pat_pieces_for_proof = 4;
Schedule pat_schedule(CollectiveKind kind, int ranks);

template <CollectiveKind TheKind>
class Pat final : public Collective {
 public:
  CollectiveKind kind() const override { return TheKind; }
  Algorithm algorithm() const override { return Algorithm::pat; }
  bool is_possible(const Setting& setting, Protocol protocol) const override {
    return detail::is_pat_possible(setting, protocol);
  }
  bool is_offered(const Setting& setting, Protocol /*protocol*/) const override { return setting.library.pat; }
  Plan plan(const Setting& setting, Protocol protocol) const override { return detail::pat_plan(setting, protocol); }
  Schedule schedule(int ranks) const override { return pat_schedule(TheKind, ranks); }
};

}  // namespace warploom
