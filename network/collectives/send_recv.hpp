// SPDX-License-Identifier: Apache-2.0
// Point to point: member 0 sends to member 1.
//
// Equation: one step, the whole message once.
#pragma once

#include "network/collectives/collective.hpp"

namespace warploom {

class SendRecv final : public Collective {
 public:
  CollectiveKind kind() const override { return CollectiveKind::send_recv; }
  Algorithm algorithm() const override { return Algorithm::direct; }
  bool is_possible(const Setting& setting, Protocol protocol) const override;
  bool is_offered(const Setting& setting, Protocol protocol) const override;
  Plan plan(const Setting& setting, Protocol protocol) const override;
  Schedule schedule(int ranks) const override;
};

}  // namespace warploom
