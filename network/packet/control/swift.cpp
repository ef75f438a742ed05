// SPDX-License-Identifier: Apache-2.0
// Swift's algorithm 1.
#include "network/packet/control/swift.hpp"

#include <algorithm>
#include <cmath>

namespace warploom {

namespace {

constexpr double least_window = 0.001;

}  // namespace

Swift::Swift(const SwiftSpec& spec, CongestionHost& host) : spec_(spec), host_(host) {
  const auto range = static_cast<double>(spec.flow_scaling_range.ps());
  scaling_ = range / (1 / std::sqrt(spec.flow_scaling_least) - 1 / std::sqrt(spec.flow_scaling_most));
  offset_ = -scaling_ / std::sqrt(spec.flow_scaling_most);
}

double Swift::target(double window, double hops) const {
  const auto range = static_cast<double>(spec_.flow_scaling_range.ps());
  return static_cast<double>(spec_.base_target.ps()) + hops * static_cast<double>(spec_.hop_target.ps()) +
         std::clamp(scaling_ / std::sqrt(window) + offset_, 0.0, range);
}

void Swift::on_start(ConnectionId id, std::int64_t now) {
  if (states_.size() <= id) states_.resize(id + 1);
  State& s = states_[id];
  s = {};
  const Connection& c = host_.connection(id);
  s.hops = c.path_length;
  // Starts, and ends at most, with what the line holds within the target.
  const double round_trip = static_cast<double>(c.base_delay + c.back_delay);
  const double most = std::max(round_trip, target(spec_.flow_scaling_most, s.hops));
  s.most = std::max(1.0, host_.line_rate(id) * most / c.unit);
  s.window = std::clamp(host_.line_rate(id) * round_trip / c.unit, 1.0, s.most);
  s.decreased = now;
  apply(id, round_trip);
}

void Swift::on_answer(ConnectionId id, const Answer& answer) {
  State& s = states_[id];
  const auto delay = static_cast<double>(answer.now - answer.sent_at);
  const double aim = target(s.window, s.hops);
  if (delay < aim) {
    s.window += s.window >= 1 ? spec_.additive_increase / s.window : spec_.additive_increase;
  } else if (static_cast<double>(answer.now - s.decreased) >= delay) {
    s.window *= std::max(1 - spec_.beta * (delay - aim) / delay, 1 - spec_.max_decrease);
    s.decreased = answer.now;
  }
  s.window = std::clamp(s.window, least_window, s.most);
  apply(id, delay);
}

void Swift::apply(ConnectionId id, double round_trip) {
  const State& s = states_[id];
  Connection& c = host_.connection(id);
  c.window = std::max<std::int64_t>(std::llround(s.window * c.unit), 1);
  c.control_gap = s.window < 1 ? round_trip / (s.window * c.unit) : 0;
}

}  // namespace warploom
