// SPDX-License-Identifier: Apache-2.0
// A mixture-of-experts layer on one device: grouped products of the experts that it has, with routing around them.
#pragma once

#include <cstdint>

#include "sim/work/kernel.hpp"

namespace warploom {

class KernelFamily;

struct MoeShape {
  std::int64_t tokens = 0;
  std::int64_t hidden = 0;
  std::int64_t intermediate = 0;  // of an expert on this device; the first product makes gate and up
  std::int64_t top_k = 1;
  std::int64_t experts = 1;                // of the layer
  std::int64_t local_experts = 1;          // on this device
  std::int64_t skew = 0;                   // 100 x the exponent of the power law of loads; 0: all alike
  std::int64_t groups = 0;                 // of experts; a token keeps to half of them, as in DeepSeek-V3; 0: free
  bool is_gated = true;                    // else one product instead of gate and up, as in Nemotron-H
  bool leaves_one_by_one = false;          // expert_loads.hpp: how assignments that rounding leaves are drawn
  DataType type = DataType::bf16;          // of tokens and results
  DataType product_type = DataType::bf16;  // of the products
  DataType weight_type = DataType::bf16;   // in memory
};

Kernel moe(const MoeShape& shape);
MoeShape moe_shape(const Kernel& kernel);
const KernelFamily& moe_family();

}  // namespace warploom
