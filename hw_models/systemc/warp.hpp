// SPDX-License-Identifier: Apache-2.0
// The state of a block and of its warps.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "hw_models/programs/kernel_program.hpp"

namespace warploom::detailed {

struct Block;
struct Warp;

struct RingState {
  std::int64_t over = 0;    // phases that have come
  std::deque<int> arrived;  // of the phases after them
  std::vector<Warp*> waiting;
};

struct RingCount {  // of one warp
  std::int64_t waits = 0;
  std::int64_t arrivals = 0;
  std::int64_t copies = 0;
};

struct Turn {
  std::size_t body = 0;  // the instruction after the loop's
  std::int64_t left = 0;
  int stages = 0;
  int depth = 0;            // main loops around it
  std::int64_t marked = 0;  // left when the watched rotations began
  std::int64_t last = 0;    // left when the last of them ended

  double rotations() const { return static_cast<double>(marked - left) / stages; }  // since then
};

struct Warp {
  Block* block = nullptr;
  const WarpRole* role = nullptr;
  int sub_partition = 0;
  int lane = 0;  // of the picture
  std::int64_t age = 0;
  std::size_t next = 0;
  std::vector<Turn> turns;
  std::vector<RingCount> rings;
  std::deque<double> products;  // ends of those in flight
  std::deque<double> loads;
  std::deque<double> stores;
  double ready = 0;          // when it can issue again
  bool is_waiting = false;   // at a barrier, since `ready`
  bool has_arrived = false;  // at the barrier that it synchronises at
  bool is_done = false;

  // The innermost main loop it is in, or that of a depth.
  Turn* main_turn(int depth) {
    for (Turn& turn : turns) {
      if (turn.stages > 0 && turn.depth == depth) return &turn;
    }
    return nullptr;
  }
};

struct Block {
  std::vector<RingState> rings;
  std::vector<std::unique_ptr<Warp>> warps;
  BlockGroup group;  // of one block
  int running = 0;
  int pending = 0;  // arrivals that are still to come
  bool is_drawn = false;

  // Of the main loop of this depth since it was marked: the mean of the warps that are in it; none: 0.
  double rotations(int depth) const {
    double sum = 0;
    int warps_in_it = 0;
    for (const auto& warp : warps) {
      const Turn* turn = warp->main_turn(depth);
      if (turn == nullptr) continue;
      sum += turn->rotations();
      ++warps_in_it;
    }
    return warps_in_it > 0 ? sum / warps_in_it : 0;
  }
};

// Units of an SM, as lanes of a picture after those of the warps.
enum class Unit : std::uint8_t { tensor, copies, shared_memory, stores };

}  // namespace warploom::detailed
