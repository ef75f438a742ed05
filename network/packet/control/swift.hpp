// SPDX-License-Identifier: Apache-2.0
// Swift: the sender's window follows the round trip's delay against a target.
//
// Equations: target = base + hops x hop_target + clamp(a / sqrt(w) + b, 0, range), a = range / (1 / sqrt(least) - 1 /
// sqrt(most)), b = -a / sqrt(most), w in packets. Below it w += ai / w each packet (ai where w < 1); above it, once a
// round trip, w *= max(1 - beta (delay - target) / delay, 1 - max_decrease). Where w < 1 packets go each rtt / w.
// Source: Kumar et al., SIGCOMM 2020, algorithm 1 and section 3.5. Assumption: only the network delays; hosts are
// neither late nor short of processors, so that there is one window, not two.
#pragma once

#include <vector>

#include "network/packet/congestion.hpp"

namespace warploom {

class Swift final : public CongestionController {
 public:
  Swift(const SwiftSpec& spec, CongestionHost& host);
  bool wants_answers() const override { return true; }
  void on_start(ConnectionId id, std::int64_t now) override;
  void on_answer(ConnectionId id, const Answer& answer) override;
  // Of a window in packets, over `hops` links; ps.
  double target(double window, double hops) const;

 private:
  struct State {
    double window = 1;  // packets
    double most = 1;
    double hops = 0;
    std::int64_t decreased = 0;
  };
  void apply(ConnectionId id, double round_trip);

  SwiftSpec spec_;
  CongestionHost& host_;
  double scaling_ = 0;  // a
  double offset_ = 0;   // b
  std::vector<State> states_;
};

}  // namespace warploom
