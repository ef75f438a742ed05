// SPDX-License-Identifier: Apache-2.0
// How far measurements of a class stood from predictions of it.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "sim/core/units.hpp"

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

// "1.33 ms to 1.5 ms (80% of measured rows: ...)" around a prediction, or that nothing of its class was measured.
inline std::string in_words(const std::optional<PredictionBand>& band, Time predicted) {
  if (!band) return "no measured rows of this class";
  return fmt::format("{} to {} (80% of measured rows: {})", to_string(predicted * band->low),
                     to_string(predicted * band->high), band->of);
}

}  // namespace warploom
