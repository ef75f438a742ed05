// SPDX-License-Identifier: Apache-2.0
// Links that wait for each other in a circle: pauses or credits that can never come.
//
// A lane is held if something has waited in it for the whole of `watch` without its far end letting it send. It waits
// for the lanes in which packets stand that came by it, for those fill the memory behind it. A circle of held lanes is
// a deadlock: no one can send before the next has. Source: Dally and Seitz, "Deadlock-free message routing in
// multiprocessor interconnection networks", IEEE ToC 1987.
#include <fmt/format.h>

#include <algorithm>

#include "network/packet/network.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

void PacketNetwork::watch() {
  is_watching_ = open_connections_ > 0;
  if (!is_watching_) return;
  // Nothing is on its way and nothing will be: flows wait for what others would have to send first. Circles of links
  // have their own words below, and are seen a watch later.
  const bool is_idle = wheel_.empty();
  push(now_ + spec_.watch.ps(), Kind::watch, 0);
  const auto is_held = [this](LaneId id) {
    const Lane& lane = lanes_[id];
    return lane.head != nothing && lane.blocked_since >= 0 && now_ - lane.blocked_since >= spec_.watch.ps();
  };
  // Depth-first; 1: on the way, 2: leads to no circle.
  std::vector<std::uint8_t> seen(lanes_.size());
  struct Step {
    LaneId lane;
    std::vector<LaneId> next;
  };
  for (LaneId start = 0; start < lanes_.size(); ++start) {
    if (!is_held(start) || seen[start] != 0) continue;
    std::vector<Step> way;
    way.push_back({start, waits_for(start)});
    seen[start] = 1;
    while (!way.empty()) {
      if (way.back().next.empty()) {
        seen[way.back().lane] = 2;
        way.pop_back();
        continue;
      }
      const LaneId next = way.back().next.back();
      way.back().next.pop_back();
      if (!is_held(next) || seen[next] == 2) continue;
      if (seen[next] == 1) {
        std::vector<LaneId> circle;
        const auto first = std::ranges::find(way, next, &Step::lane);
        for (auto it = first; it != way.end(); ++it) circle.push_back(it->lane);
        report_circle(circle);
      }
      seen[next] = 1;
      way.push_back({next, waits_for(next)});
    }
  }
  if (is_idle && was_idle_) {
    throw UserError(
        fmt::format("{} flows wait for each other and none can go on", open_connections_),
        "a packet larger than what a rank passes on at once stops a ring: try a smaller `mtu` or `train` of "
        "`network.fabric`, or `--fabric fluid`");
  }
  was_idle_ = is_idle;
}

std::vector<LaneId> PacketNetwork::waits_for(LaneId id) const {
  const EdgeId edge = id / lane_count_;
  std::vector<LaneId> lanes;
  for (const EdgeId out : graph_.out(graph_.to(edge))) {
    for (std::uint32_t l = 0; l < lane_count_; ++l) {
      for (PacketId at = lanes_[out * lane_count_ + l].head; at != nothing; at = packets_[at].next) {
        if (paths_[packets_[at].place - 1] != edge || packets_[at].from_lane != id % lane_count_) continue;
        lanes.push_back(out * lane_count_ + l);
        break;
      }
    }
  }
  return lanes;
}

void PacketNetwork::report_circle(const std::vector<LaneId>& circle) const {
  std::string names;
  for (const LaneId id : circle) names += fmt::format("`{}`, ", link_name(id / lane_count_));
  const Lane& lane = lanes_[circle.front()];
  throw UserError(fmt::format("deadlock at {}: links wait for each other in a circle, {}: {}and the first again",
                              to_string(Time::picoseconds(now_)), lane.is_paused ? "paused" : "without credits", names),
                  "route so that no circle can form, or give `lane_choice: by_hop` and as many `lanes` as a way has "
                  "turns, such as 4");
}

}  // namespace warploom
