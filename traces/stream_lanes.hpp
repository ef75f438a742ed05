// SPDX-License-Identifier: Apache-2.0
// Device streams as streams of a program, which run strictly in order: operations that overlapped their neighbours
// stand on further lanes.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "sim/work/program.hpp"
#include "traces/capture.hpp"

namespace warploom {

class StreamLanes {
 public:
  // Both outlive it; streams are added to the program as they are met.
  StreamLanes(const Capture& capture, Program& program, RoleId role);

  struct Place {
    StreamId stream = none;
    bool follows = false;  // `before` is the operation before it there
  };
  // For operations in the order of their rows; `before`: what it followed on its device stream, or `nothing`.
  Place place(std::uint32_t op, std::uint32_t before);

 private:
  struct Lane {
    StreamId stream = none;
    std::uint32_t last = nothing;  // operation
  };
  StreamId new_stream(const DeviceOp& op, std::size_t number);

  const Capture& capture_;
  Program& program_;
  RoleId role_;
  Nanoseconds near_;
  std::vector<std::vector<Lane>> lanes_;                               // by device stream
  std::vector<std::set<std::pair<Nanoseconds, std::uint32_t>>> ends_;  // by device stream: when each lane is free
  std::vector<std::uint32_t> lane_of_;                                 // by operation
};

}  // namespace warploom
