// SPDX-License-Identifier: Apache-2.0
// What goes with a tile of vLLM's Triton kernel for experts: depth of a step, warps, stages, order of tiles.
//
// Source: get_default_config and the folder of tuned tables in vllm/model_executor/layers/fused_moe, as moe_tiles.hpp;
// Triton's own defaults (4 warps, 3 stages) where the configuration says nothing.
#pragma once

#include <cstdint>

#include "hw_models/kernels/moe_tiles.hpp"
#include "hw_models/moe_constants.hpp"

namespace warploom {

struct TritonConfig {
  std::int64_t step_bytes = 128;
  std::int64_t warps = 4;
  int stages = 3;
  double group = 1;  // rows of tiles that go over all columns together
};

// What the rules go by, beside the tile.
struct TritonProblem {
  std::int64_t tokens = 0;  // of the layer
  double rows_an_expert = 0;
  int bits = 16;  // of a value
};

TritonConfig triton_config(const MoeTile& tile, MoeTileRule rule, const TritonProblem& problem);

}  // namespace warploom
