// SPDX-License-Identifier: Apache-2.0
// Steps up and down the table.
#include "network/packet/control/congestion_table.hpp"

#include <algorithm>

namespace warploom {

void CongestionTable::on_start(ConnectionId id, std::int64_t /*now*/) {
  if (places_.size() <= id) places_.resize(id + 1);
  places_[id] = 0;
}

void CongestionTable::on_notification(ConnectionId id, std::int64_t now) {
  if (places_[id] == 0) host_.set_timer(id, 0, now + spec_.timer.ps());
  places_[id] = std::min(places_[id] + spec_.increase, spec_.limit);
  apply(id);
}

void CongestionTable::on_timer(ConnectionId id, int /*which*/, std::int64_t now) {
  if (--places_[id] > 0) host_.set_timer(id, 0, now + spec_.timer.ps());
  apply(id);
}

void CongestionTable::apply(ConnectionId id) {
  host_.connection(id).control_gap = places_[id] == 0 ? 0 : (1 + spec_.step * places_[id]) / host_.line_rate(id);
}

}  // namespace warploom
