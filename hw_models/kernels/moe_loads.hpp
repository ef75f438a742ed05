// SPDX-License-Identifier: Apache-2.0
// Rows of a mixture's grouped products on the device with the most tokens, on average over draws of the loads.
#pragma once

#include <cstdint>
#include <vector>

#include "hw_models/kernels/moe.hpp"

namespace warploom {

struct MoeLoads {
  double rows = 0;  // of this device
  double busy = 0;  // experts that have some
  std::vector<std::vector<std::int64_t>> draws;

  double tiles(double rows_a_tile) const;
};

MoeLoads moe_loads(const MoeShape& shape);

}  // namespace warploom
