// SPDX-License-Identifier: Apache-2.0
// One launch whose blocks are the tiles of all experts: grouped products as the libraries build them.
#pragma once

#include <cstdint>

#include "hw_models/device.hpp"
#include "hw_models/kernels/moe_tiles.hpp"
#include "hw_models/programs/kernel_program.hpp"

namespace warploom {

struct GroupedProduct {
  const char* name = "";
  double rows = 0;             // of tokens, of all experts
  double busy = 1;             // experts that have some
  std::int64_t row_tiles = 1;  // of all experts
  std::int64_t columns = 0;
  std::int64_t depth = 0;
  MoeTile tile{};
  DataType type = DataType::bf16;    // of the products
  DataType weight = DataType::bf16;  // in memory
  DataType output = DataType::bf16;
  double cold_rows = 1;     // of the tokens' rows, what the L2 lacks
  std::int64_t tokens = 0;  // of the layer: some rules go by them
  bool promotes = false;    // sums of 128 products are scaled and added up in FP32
};

KernelProgram grouped_product(const GroupedProduct& product, const DeviceSpec& device);

}  // namespace warploom
