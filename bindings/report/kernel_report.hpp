// SPDX-License-Identifier: Apache-2.0
// One kernel's prediction as text and as JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bindings/report/prediction_band.hpp"
#include "workloads/kernel_prediction.hpp"

namespace warploom {

struct KernelReport {
  KernelPrediction prediction;
  std::string device;  // as named: `h100_sxm`
  DeviceSpec spec;     // what was played on, with what is free
  Power power_limit{0};
  std::optional<PredictionBand> band;
  KernelChoice choice;
  bool explains = false;  // its candidates are shown
};

std::string to_text(const KernelReport& report);
std::string to_json(const KernelReport& report);

}  // namespace warploom
