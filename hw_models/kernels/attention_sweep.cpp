// SPDX-License-Identifier: Apache-2.0
// Counts steps block by block, as the kernels do.
#include "hw_models/kernels/attention_sweep.hpp"

#include <algorithm>
#include <cmath>

namespace warploom {

double steps_of_block(const Sweep& sweep, double block) {
  const double last_row = std::min(sweep.rows, (block + 1) * sweep.row_tile) - 1;
  const auto seen = [&](double row) {
    return sweep.causal ? std::min(sweep.columns, sweep.first + std::floor(row / sweep.pack)) : sweep.columns;
  };
  double start = 0;
  if (sweep.window > 0) start = std::max(0.0, seen(block * sweep.row_tile) - 1 - sweep.window);
  return std::ceil(seen(last_row) / sweep.column_tile) - std::floor(start / sweep.column_tile);
}

Steps steps_of(const Sweep& sweep) {
  Steps steps;
  steps.blocks = std::ceil(sweep.rows / sweep.row_tile);
  steps.shortest = steps_of_block(sweep, 0);
  steps.longest = steps_of_block(sweep, steps.blocks - 1);
  constexpr double countable = 16384;  // beyond, the arithmetic mean is as good
  if (!sweep.causal || (steps.blocks > countable && sweep.window == 0)) {
    steps.sum = steps.blocks * (steps.shortest + steps.longest) / 2;
  } else if (steps.blocks > countable) {
    steps.sum = steps.blocks * steps.longest;  // most blocks of a long row have a full window
  } else {
    for (double block = 0; block < steps.blocks; ++block) {
      const double here = steps_of_block(sweep, block);
      steps.sum += here;
      steps.longest = std::max(steps.longest, here);
    }
  }
  return steps;
}

}  // namespace warploom
