// SPDX-License-Identifier: Apache-2.0
// The lane of what was followed, else the one that is free first, else a new one.
#include "traces/stream_lanes.hpp"

#include <string>

#include "traces/dependencies.hpp"

namespace warploom {

StreamLanes::StreamLanes(const Capture& capture, Program& program, RoleId role)
    : capture_(capture),
      program_(program),
      role_(role),
      near_(tolerance(capture)),
      lanes_(capture.streams.size()),
      ends_(capture.streams.size()),
      lane_of_(capture.device_ops.size(), nothing) {}

StreamLanes::Place StreamLanes::place(std::uint32_t index, std::uint32_t before) {
  const auto& op = capture_.device_ops[index];
  auto& lanes = lanes_[op.stream];
  auto& ends = ends_[op.stream];
  std::uint32_t number = nothing;
  if (before != nothing && lane_of_[before] != nothing && lanes[lane_of_[before]].last == before) {
    number = lane_of_[before];
  } else if (!ends.empty() && ends.begin()->first <= op.start + near_) {
    number = ends.begin()->second;
  }
  if (number == nothing) {
    number = static_cast<std::uint32_t>(lanes.size());
    lanes.push_back({new_stream(op, lanes.size()), nothing});
  } else {
    ends.erase({capture_.device_ops[lanes[number].last].end(), number});
  }
  Lane& lane = lanes[number];
  const bool follows = lane.last != nothing && lane.last == before;
  ends.emplace(op.end(), number);
  lane_of_[index] = number;
  lane.last = index;
  return {lane.stream, follows};
}

StreamId StreamLanes::new_stream(const DeviceOp& op, std::size_t number) {
  const auto& stream = capture_.streams[op.stream];
  std::string name = stream.name.starts_with("stream") ? stream.name : "stream " + stream.name;
  if (number > 0) name += " #" + std::to_string(number + 1);
  const StreamKind kind = op.op_class == OpClass::communication ? StreamKind::communication : StreamKind::compute;
  return program_.add_stream({role_, kind, std::move(name)});
}

}  // namespace warploom
