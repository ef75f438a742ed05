// SPDX-License-Identifier: Apache-2.0
// The blocks of one head of fused attention, and over how many tiles each steps.
#pragma once

namespace warploom {

// `rows` in blocks of `row_tile` step over `columns` in tiles of `column_tile`. Row r sees the columns before
// `first + r / pack` (causal; else all), and of those the last `window` (0: all).
struct Sweep {
  double rows = 0;
  double columns = 0;
  double row_tile = 1;
  double column_tile = 1;
  double first = 1;   // columns that the first row sees
  double pack = 1;    // rows that see the same columns
  double window = 0;  // 0: none
  bool causal = false;
};

struct Steps {
  double blocks = 0;
  double sum = 0;
  double shortest = 0;
  double longest = 0;
};

Steps steps_of(const Sweep& sweep);

// Of one of its blocks.
double steps_of_block(const Sweep& sweep, double block);

}  // namespace warploom
