// SPDX-License-Identifier: Apache-2.0
// How far measurements of a class stood from predictions of it.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

namespace warploom {

// With 80% probability measured / predicted is from `low` to `high`, as it was for the measured rows of the class.
struct PredictionBand {
  double low = 1;
  double high = 1;
  std::string of;  // "gemm bf16 llm, h100_sxm, 512 rows"
};

// Where predictions of the class are off to one side, the band still reaches the prediction.
inline PredictionBand band_around(double low, double high, std::string of) {
  return {std::min(low, 1.0), std::max(high, 1.0), std::move(of)};
}

}  // namespace warploom
