// SPDX-License-Identifier: Apache-2.0
// HPCC: the sender's window follows the utilisation that switches write into packets.
//
// Equations: of each link u = min(qlen, qlen before) / (B T) + txRate / B; U is the largest u, averaged over a base
// round trip T. If U >= eta, or after max_stage rises, W = Wc eta / U + W_AI, else W = Wc + W_AI; Wc = W once a round
// trip; rate W / T. Starts with B T. Source: Li et al., SIGCOMM 2019, algorithm 1. Assumption: T is each connection's
// own round trip alone, not one of the whole network. Where packets take turns among paths a note is compared with the
// one before from the same link, whatever path that packet came by (the paper's INT header tells paths apart, too),
// each link's u is averaged over T first, since the largest of several that jump is too large, and U over the paths.
#pragma once

#include <vector>

#include "network/packet/congestion.hpp"

namespace warploom {

class Hpcc final : public CongestionController {
 public:
  Hpcc(const HpccSpec& spec, CongestionHost& host) : spec_(spec), host_(host) {}
  bool wants_answers() const override { return true; }
  bool wants_notes() const override { return true; }
  void on_start(ConnectionId id, std::int64_t now) override;
  void on_answer(ConnectionId id, const Answer& answer) override;

 private:
  struct State {
    double round_trip = 0;  // T, ps
    double line = 0;
    double utilisation = 1;   // U
    double reference = 0;     // Wc
    std::int64_t update = 0;  // lastUpdateSeq
    int stage = 0;
    std::int64_t answered = 0;
    struct Link {
      HopNote note;     // the last
      double used = 0;  // average of u over T; several paths only
    };
    std::vector<Link> links;  // ascending
  };
  // False where all links are new.
  static bool measure(State& state, const Answer& answer, std::uint32_t paths);

  HpccSpec spec_;
  CongestionHost& host_;
  std::vector<State> states_;
};

}  // namespace warploom
