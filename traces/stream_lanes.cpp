// SPDX-License-Identifier: Apache-2.0
// The lane of what was followed, else the one that is free first, else a new one.
#include "traces/stream_lanes.hpp"

#include <algorithm>
#include <functional>
#include <string>

#include "traces/dependencies.hpp"

namespace warploom {

StreamLanes::StreamLanes(const Capture& capture, Program& program, RoleId role)
    : capture_(capture),
      program_(program),
      role_(role),
      near_(tolerance(capture)),
      lanes_(capture.streams.size()),
      lane_of_(capture.device_ops.size(), nothing) {}

StreamLanes::Place StreamLanes::place(std::uint32_t index, std::uint32_t before) {
  const auto& op = capture_.device_ops[index];
  auto& lanes = lanes_[op.stream];
  std::uint32_t number = nothing;
  if (before != nothing && lane_of_[before] != nothing && lanes.all[lane_of_[before]].last == before) {
    number = lane_of_[before];
  } else {
    number = free_first(lanes, op.start + near_);
  }
  if (number == nothing) {
    number = static_cast<std::uint32_t>(lanes.all.size());
    lanes.all.push_back({new_stream(op, lanes.all.size())});
  }
  const Lane& lane = lanes.all[number];
  const bool follows = lane.last != nothing && lane.last == before;
  occupy(lanes, number, index, op.end());
  lane_of_[index] = number;
  return {lane.stream, follows};
}

// The lane that is free first, the first of several, if it is by then.
std::uint32_t StreamLanes::free_first(Lanes& lanes, Nanoseconds by) {
  if (lanes.all.size() == 1) return lanes.all.front().end > by ? nothing : 0;
  auto& ends = lanes.ends;
  while (!ends.empty() && lanes.all[ends.front().second].end != ends.front().first) {
    std::pop_heap(ends.begin(), ends.end(), std::greater<>());
    ends.pop_back();
  }
  return ends.empty() || ends.front().first > by ? nothing : ends.front().second;
}

void StreamLanes::occupy(Lanes& lanes, std::uint32_t number, std::uint32_t op, Nanoseconds end) {
  lanes.all[number].last = op;
  lanes.all[number].end = end;
  if (lanes.all.size() == 1) return;
  auto& ends = lanes.ends;
  if (ends.empty() || ends.size() > 2 * lanes.all.size() + 16) {  // a second lane, or most of it is past
    ends.clear();
    for (std::uint32_t i = 0; i < lanes.all.size(); ++i) ends.emplace_back(lanes.all[i].end, i);
    std::make_heap(ends.begin(), ends.end(), std::greater<>());
    return;
  }
  ends.emplace_back(end, number);
  std::push_heap(ends.begin(), ends.end(), std::greater<>());
}

StreamId StreamLanes::new_stream(const DeviceOp& op, std::size_t number) {
  const auto& stream = capture_.streams[op.stream];
  std::string name = stream.name.starts_with("stream") ? stream.name : "stream " + stream.name;
  if (number > 0) name += " #" + std::to_string(number + 1);
  const StreamKind kind = op.op_class == OpClass::communication ? StreamKind::communication : StreamKind::compute;
  return program_.add_stream({role_, kind, std::move(name)});
}

}  // namespace warploom
