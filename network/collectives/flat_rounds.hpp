// SPDX-License-Identifier: Apache-2.0
// A round algorithm as a collective: over all members, or where the library works in levels between the nodes, with
// its algorithm of level 0 inside them.
#pragma once

#include "network/collectives/levels.hpp"

namespace warploom {

namespace detail {
bool is_possible_in_rounds(const RoundAlgorithm& algorithm, CollectiveKind kind, const Setting& setting,
                           Protocol protocol);
Plan plan_in_rounds(const RoundAlgorithm& algorithm, CollectiveKind kind, const Setting& setting, Protocol protocol);
}  // namespace detail

template <class Rounds, CollectiveKind TheKind>
class InRounds final : public Collective {
 public:
  CollectiveKind kind() const override { return TheKind; }
  Algorithm algorithm() const override { return rounds_.algorithm(); }
  bool is_possible(const Setting& setting, Protocol protocol) const override {
    return detail::is_possible_in_rounds(rounds_, TheKind, setting, protocol);
  }
  Plan plan(const Setting& setting, Protocol protocol) const override {
    return detail::plan_in_rounds(rounds_, TheKind, setting, protocol);
  }
  Schedule schedule(int ranks) const override { return rounds_.schedule(TheKind, ranks); }
  const RoundAlgorithm* rounds() const override { return &rounds_; }

 private:
  Rounds rounds_;
};

}  // namespace warploom
