// SPDX-License-Identifier: Apache-2.0
// Predictions for rows of kernels, for scripts/calibrate_kernels.py: `kernel_rows DEVICE [key=value ...] < rows >
// seconds`.
//
// A row is words: `gemm TYPE M N K`, `attention TYPE BATCH Q_HEADS KV_HEADS Q_LENGTH KV_LENGTH HEAD_DIM` (causal),
// `norm ROWS WIDTH`, `swiglu ROWS WIDTH`, `gelu ROWS WIDTH`, `rotary TOKENS HEADS HEAD_DIM`, `embedding TOKENS WIDTH`,
// `add ELEMENTS`. A line of the answer is the time in microseconds without a launch gap, its bound, its power in watts
// and its HBM bytes.
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "hw_models/device.hpp"
#include "hw_models/kernels.hpp"
#include "sim/core/config.hpp"
#include "tests/validation/measured_rows.hpp"

int main(int argc, char** argv) {
  using namespace warploom;
  try {
    if (argc < 2) throw UserError("expected a device");
    const std::vector<std::string> overrides(argv + 2, argv + argc);
    const auto device = read<DeviceSpec>(load_config(argv[1], overrides));
    std::string line;
    while (std::getline(std::cin, line)) {
      const KernelCost cost = validation::cost_of_row(line, device);
      std::printf("%.6f %s %.1f %.4g\n", cost.duration.microseconds(), std::string(name(cost.bound_by)).c_str(),
                  cost.power.value(), static_cast<double>(cost.hbm_bytes.count()));
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return 0;
}
