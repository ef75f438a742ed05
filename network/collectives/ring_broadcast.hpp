// SPDX-License-Identifier: Apache-2.0
// Pipelined broadcast: the message goes down a chain from member 0, piece by piece.
//
// Equation: n - 1 hops until the last member hears the first piece, then the message at the chain's rate; each rank but
// the last sends all of it once.
#pragma once

#include "network/collectives/collective.hpp"

namespace warploom {

class RingBroadcast final : public Collective {
 public:
  CollectiveKind kind() const override { return CollectiveKind::broadcast; }
  Algorithm algorithm() const override { return Algorithm::ring; }
  bool is_possible(const Setting& setting, Protocol protocol) const override;
  Plan plan(const Setting& setting, Protocol protocol) const override;
  Schedule schedule(int ranks) const override;
};

}  // namespace warploom
