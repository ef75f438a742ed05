// SPDX-License-Identifier: Apache-2.0
// InfiniBand's congestion control: each BECN moves the sender a step up a table of gaps between packets, a timer back.
//
// Equations: on a BECN i = min(i + increase, limit); each `timer` i = i - 1 down to 0; after a packet of duration t the
// sender waits CCT[i] t, CCT[i] = step i, so that its rate is line / (1 + step i). Switches set FECN on packets that
// leave more than `threshold` bytes behind; receivers answer each with a BECN. Source: InfiniBand architecture
// specification 1.4, volume 1, annex A10; Gran et al., "First experiences with congestion control in InfiniBand
// hardware", IPDPS 2010. Assumption: a table that rises by equal steps, as OpenSM writes it.
#pragma once

#include <vector>

#include "network/packet/congestion.hpp"

namespace warploom {

class CongestionTable final : public CongestionController {
 public:
  CongestionTable(const CongestionTableSpec& spec, CongestionHost& host) : spec_(spec), host_(host) {}
  void on_start(ConnectionId id, std::int64_t now) override;
  void on_notification(ConnectionId id, std::int64_t now) override;
  void on_timer(ConnectionId id, int which, std::int64_t now) override;

 private:
  void apply(ConnectionId id);

  CongestionTableSpec spec_;
  CongestionHost& host_;
  std::vector<int> places_;
};

}  // namespace warploom
