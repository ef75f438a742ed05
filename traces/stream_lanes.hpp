// SPDX-License-Identifier: Apache-2.0
// Device streams as streams of a program, which run strictly in order: operations that overlapped their neighbours
// stand on further lanes.
#pragma once

#include <cstdint>
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
    Nanoseconds end = 0;           // of that
  };
  // The lanes of one device stream.
  struct Lanes {
    std::vector<Lane> all;
    // When each of several is free, a heap with the first on top. What a lane ran before stays until it comes up.
    std::vector<std::pair<Nanoseconds, std::uint32_t>> ends;
  };
  static std::uint32_t free_first(Lanes& lanes, Nanoseconds by);
  static void occupy(Lanes& lanes, std::uint32_t number, std::uint32_t op, Nanoseconds end);
  StreamId new_stream(const DeviceOp& op, std::size_t number);

  const Capture& capture_;
  Program& program_;
  RoleId role_;
  Nanoseconds near_;
  std::vector<Lanes> lanes_;            // by device stream
  std::vector<std::uint32_t> lane_of_;  // by operation
};

}  // namespace warploom
