// SPDX-License-Identifier: Apache-2.0
// A unit that serves one request after the other at a rate: a pipe, a port, a share of the L2 or of the memory.
#pragma once

#include <algorithm>

namespace warploom::detailed {

class Server {
 public:
  // Asked for at `now`, `cycles` of work: when it is done.
  double serve(double now, double cycles) {
    free_ = std::max(now, free_) + cycles;
    return free_;
  }
  double free() const { return free_; }
  void shift(double cycles) { free_ += cycles; }

 private:
  double free_ = 0;
};

}  // namespace warploom::detailed
