// SPDX-License-Identifier: Apache-2.0
// Point to point: member 0 sends to member 1.
//
// Equation: one step, the whole message once.
#pragma once

#include "network/collectives/peer.hpp"

namespace warploom {

class SendRecv final : public DirectCollective {
 public:
  CollectiveKind kind() const override { return CollectiveKind::send_recv; }
  bool is_possible(const Setting& setting, Protocol protocol) const override;
  Schedule schedule(int ranks) const override;

 private:
  Messages messages(const Setting& setting) const override;
};

}  // namespace warploom
