// SPDX-License-Identifier: Apache-2.0
// Coordinate descent within ranges: no derivatives, deterministic, stops when steps have become small.
//
// Hooke and Jeeves (1961): a step along each coordinate, the other way where that does not help, half as far where
// neither does; after a round that helped, once more the way it went.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace warploom {

struct DescentRange {
  double low = 0;
  double high = 1;
  std::vector<double> choices;  // where only some values make sense, in order; else empty
};

struct DescentOptions {
  int rounds = 30;
  double first_step = 0.12;  // shares of a range
  double last_step = 0.002;
  double least_gain = 2e-4;        // of a round, relative; two rounds with less end it
  std::function<void()> progress;  // after each evaluation
};

// The best values found. `start` must lie within the ranges.
std::vector<double> descend(std::span<const DescentRange> ranges, std::vector<double> start,
                            const std::function<double(const std::vector<double>&)>& objective,
                            const DescentOptions& options = {});

}  // namespace warploom
