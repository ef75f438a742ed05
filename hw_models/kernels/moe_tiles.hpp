// SPDX-License-Identifier: Apache-2.0
// Rows and columns of the tiles that an implementation of mixture-of-experts layers takes.
#pragma once

#include "hw_models/kernels/moe.hpp"
#include "hw_models/moe_constants.hpp"

namespace warploom {

struct MoeTile {
  double rows = 16;
  double columns = 128;
  double main_loop = 1;  // share of the tensor rate that its products reach
};

// `mean_rows` of an expert that has some. Source of vLLM's rules: get_default_config and the folder of tuned tables in
// vllm/model_executor/layers/fused_moe; a tuned table is what several of them have in common.
MoeTile moe_tile(const MoeShape& shape, double mean_rows, const MoeConstants& constants);

}  // namespace warploom
