// SPDX-License-Identifier: Apache-2.0
// HPCC's algorithm 1.
#include "network/packet/control/hpcc.hpp"

#include <algorithm>
#include <cmath>

namespace warploom {

void Hpcc::on_start(ConnectionId id, std::int64_t /*now*/) {
  if (states_.size() <= id) states_.resize(id + 1);
  State& s = states_[id];
  s = {};
  Connection& c = host_.connection(id);
  s.line = host_.line_rate(id);
  s.round_trip = static_cast<double>(c.base_delay + c.back_delay);
  s.reference = s.line * s.round_trip;
  s.utilisation = 0;
  c.window = std::llround(s.reference);
}

bool Hpcc::measure(State& s, const Answer& answer, std::uint32_t paths) {
  bool is_known = false;
  double most = 0;
  double span = s.round_trip;
  for (const HopNote& now : answer.notes) {
    const auto known =
        std::ranges::lower_bound(s.links, now.link, {}, [](const State::Link& link) { return link.note.link; });
    if (known == s.links.end() || known->note.link != now.link) {
      s.links.insert(known, {now, 0});
      continue;
    }
    is_known = true;
    const HopNote before = known->note;
    const auto time = static_cast<double>(now.time - before.time);
    if (time <= 0) continue;
    known->note = now;
    const double rate = static_cast<double>(now.sent - before.sent) / time;
    const auto queued = static_cast<double>(std::min(now.queued, before.queued));
    double used = queued / (now.rate * s.round_trip) + rate / now.rate;
    if (paths > 1) {
      const double weight = std::min(time / s.round_trip, 1.0);
      used = known->used = (1 - weight) * known->used + weight * used;
    }
    if (used > most) {
      most = used;
      span = time;
    }
  }
  if (paths > 1) span = static_cast<double>(answer.now - s.answered) * paths;
  s.answered = answer.now;
  if (!is_known) return false;
  span = std::min(span, s.round_trip);
  s.utilisation = (1 - span / s.round_trip) * s.utilisation + span / s.round_trip * most;
  return true;
}

void Hpcc::on_answer(ConnectionId id, const Answer& answer) {
  State& s = states_[id];
  Connection& c = host_.connection(id);
  if (!measure(s, answer, c.path_count)) return;
  const double utilisation = s.utilisation;
  const bool is_update = answer.offset > s.update;
  const auto rise = static_cast<double>(spec_.additive_increase.count());
  double window = s.reference + rise;
  if (utilisation >= spec_.target_utilisation || s.stage >= spec_.max_stage) {
    window = s.reference / (utilisation / spec_.target_utilisation) + rise;
    if (is_update) s.stage = 0;
  } else if (is_update) {
    ++s.stage;
  }
  window = std::clamp(window, rise > 0 ? rise : 1.0, s.line * s.round_trip);
  if (is_update) {
    s.reference = window;
    s.update = c.sent;
  }
  c.window = std::max<std::int64_t>(std::llround(window), 1);
  c.control_gap = s.round_trip / window;
}

}  // namespace warploom
