// SPDX-License-Identifier: Apache-2.0
// A prediction's error band as reports for machines give it.
#pragma once

#include <nlohmann/json.hpp>

#include <optional>

#include "bindings/report/prediction_band.hpp"

namespace warploom {

// null where nothing of the class was measured.
inline nlohmann::ordered_json band_json(const std::optional<PredictionBand>& band, Time predicted) {
  if (!band) return nullptr;
  return {{"low_us", predicted.microseconds() * band->low},
          {"high_us", predicted.microseconds() * band->high},
          {"share", 0.8},
          {"of", band->of}};
}

}  // namespace warploom
