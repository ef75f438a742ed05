// SPDX-License-Identifier: Apache-2.0
// The rules; the header says where they are from.
#include "hw_models/kernels/triton_config.hpp"

namespace warploom {

TritonConfig triton_config(const MoeTile& tile, MoeTileRule rule, const TritonProblem& problem) {
  constexpr double large = 128 * 128;
  const double area = tile.rows * tile.columns;
  TritonConfig config;
  switch (rule) {
    case MoeTileRule::vllm:  // block_k 128 up to 64 tokens and for 8 bits, else 64
      config.step_bytes = problem.tokens <= 64 && problem.bits > 8 ? 256 : 128;
      config.warps = problem.tokens <= 128 ? 4 : 8;
      config.stages = problem.tokens <= 32 ? 4 : 3;
      config.group = problem.rows_an_expert > 128 ? 16 : 1;
      break;
    case MoeTileRule::vllm_block_scaled:
      config.group = problem.tokens <= 64 ? 1 : 32;
      break;
    default:  // 64 x 64 x 32 and 16 x 32 x 64 of single kernels, or a tuned table's
      config.step_bytes = tile.rows == 64 && tile.columns == 64 ? 64 : 128;
      config.warps = area >= large ? 8 : 4;
      config.stages = area >= large ? 4 : 3;
      config.group = tile.rows >= 64 ? 8 : 1;
  }
  return config;
}

}  // namespace warploom
