// SPDX-License-Identifier: Apache-2.0
// Watches something that comes again and again, and says when it takes as long as the time before, twice.
#pragma once

#include <cstdint>
#include <optional>

#include "hw_models/detailed.hpp"

namespace warploom::detailed {

// One turn of it, or one wave.
struct Repeated {
  double cycles = 0;
  SmCounts counts;
  double times = 1;  // that this is the mean of
};

// When rotations are alike: within a cycle or this share of them. After `patience` that were not, their mean has to do.
struct Steadiness {
  double tolerance = 0;
  int patience = 0;
};

// What runs beside that which is watched.
struct Others {
  bool keep_step = true;   // all blocks have made the same progress since the watched rotations began
  bool came_round = true;  // every warp has made one rotation in this one: its counts are those of a whole one
};

class Rotation {
 public:
  // Somebody else's: begins anew.
  void follow(const void* whom, double now, const SmCounts& counts);
  void restart(double now, const SmCounts& counts) { follow(whom_, now, counts); }
  const void* whom() const { return whom_; }
  // It has come round at `now`, skipped cycles included. `backlog`: cycles of work that waits at the memories; while it
  // grows nothing is steady, nor where others that run beside it do not keep step.
  std::optional<Repeated> come_round(double now, double backlog, const SmCounts& counts, const Steadiness& steadiness,
                                     const Others& others);
  // Whether what is watched begins now: the first one, or the second half of a long wait.
  bool begins() const { return begins_; }

 private:
  const void* whom_ = nullptr;
  double start_ = 0;
  double last_ = 0;
  double backlog_ = 0;
  int alike_ = 0;
  int seen_ = 0;
  bool begins_ = true;
  SmCounts then_;
  double half_start_ = 0;  // of the second half of a long wait
  SmCounts half_then_;
};

}  // namespace warploom::detailed
