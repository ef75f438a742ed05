// SPDX-License-Identifier: Apache-2.0
// DCQCN: the sender's rate falls with each congestion notification and recovers by timer and byte counter.
//
// Equations, on a notification: Rt = Rc; Rc = Rc (1 - alpha / 2); alpha = (1 - g) alpha + g. Each alpha_timer without
// one: alpha = (1 - g) alpha. Each rate_timer (T) and each byte_counter bytes (B), since the last notification: while
// max(T, B) < F fast recovery, Rc = (Rt + Rc) / 2; then additive, Rt += R_AI first; when min(T, B) > F hyper, Rt +=
// R_HAI; R_AI and R_HAI grow with the line, so that a faster line converges as fast. Starts at line rate. Receivers
// send a notification at most each cnp_interval. Source: Zhu et al., SIGCOMM 2015, section 3.1 and figure 7.
#pragma once

#include <vector>

#include "network/packet/congestion.hpp"

namespace warploom {

class Dcqcn final : public CongestionController {
 public:
  Dcqcn(const DcqcnSpec& spec, CongestionHost& host) : spec_(spec), host_(host) {}
  std::int64_t notification_interval() const override { return spec_.cnp_interval.ps(); }
  void on_start(ConnectionId id, std::int64_t now) override;
  void on_sent(ConnectionId id, std::int64_t bytes, std::int64_t now) override;
  void on_notification(ConnectionId id, std::int64_t now) override;
  void on_timer(ConnectionId id, int which, std::int64_t now) override;

 private:
  struct State {
    double line = 0;    // bytes a ps
    double rate = 0;    // Rc
    double target = 0;  // Rt
    double alpha = 1;
    std::int64_t alpha_at = 0;  // when alpha was last brought up to date
    std::int64_t bytes = 0;
    int by_time = 0;
    int by_bytes = 0;
    bool is_slowed = false;
  };
  void increase(ConnectionId id);
  void apply(ConnectionId id);

  DcqcnSpec spec_;
  CongestionHost& host_;
  std::vector<State> states_;
};

}  // namespace warploom
