// SPDX-License-Identifier: Apache-2.0
// DCQCN's reaction point.
#include "network/packet/control/dcqcn.hpp"

#include <algorithm>
#include <cmath>

namespace warploom {

void Dcqcn::on_start(ConnectionId id, std::int64_t now) {
  if (states_.size() <= id) states_.resize(id + 1);
  State& s = states_[id];
  s = {};
  s.line = s.rate = s.target = host_.line_rate(id);
  s.alpha_at = now;
}

void Dcqcn::on_notification(ConnectionId id, std::int64_t now) {
  State& s = states_[id];
  const std::int64_t periods = (now - s.alpha_at) / spec_.alpha_timer.ps();
  s.alpha *= std::pow(1 - spec_.g, static_cast<double>(periods));
  s.target = s.rate;
  s.rate = std::max(s.rate * (1 - s.alpha / 2), std::min(spec_.least_rate.value() * 1e-12, s.line));
  s.alpha = (1 - spec_.g) * s.alpha + spec_.g;
  s.alpha_at = now;
  s.by_time = s.by_bytes = 0;
  s.bytes = 0;
  s.is_slowed = true;
  host_.set_timer(id, 0, now + spec_.rate_timer.ps());
  apply(id);
}

void Dcqcn::on_timer(ConnectionId id, int /*which*/, std::int64_t now) {
  State& s = states_[id];
  ++s.by_time;
  increase(id);
  if (s.is_slowed) host_.set_timer(id, 0, now + spec_.rate_timer.ps());
}

void Dcqcn::on_sent(ConnectionId id, std::int64_t bytes, std::int64_t /*now*/) {
  State& s = states_[id];
  if (!s.is_slowed) return;
  s.bytes += bytes;
  if (s.bytes < spec_.byte_counter.count()) return;
  s.bytes -= spec_.byte_counter.count();
  ++s.by_bytes;
  increase(id);
}

void Dcqcn::increase(ConnectionId id) {
  State& s = states_[id];
  const double scale = spec_.at_rate.value() > 0 ? s.line * 1e12 / spec_.at_rate.value() : 1;
  if (std::min(s.by_time, s.by_bytes) > spec_.fast_recovery) {
    s.target += spec_.hyper_increase.value() * 1e-12 * scale;
  } else if (std::max(s.by_time, s.by_bytes) >= spec_.fast_recovery) {
    s.target += spec_.additive_increase.value() * 1e-12 * scale;
  }
  s.target = std::min(s.target, s.line);
  s.rate = (s.target + s.rate) / 2;
  if (s.rate > s.line * (1 - 1e-6)) {
    s.rate = s.line;
    s.is_slowed = false;
  }
  apply(id);
}

void Dcqcn::apply(ConnectionId id) {
  const State& s = states_[id];
  host_.connection(id).control_gap = s.is_slowed ? 1 / s.rate : 0;
}

}  // namespace warploom
