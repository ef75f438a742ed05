// SPDX-License-Identifier: Apache-2.0
// The libraries' rules for tiles; the header says where they are from.
#include "hw_models/kernels/moe_tiles.hpp"

#include <algorithm>
#include <cmath>

namespace warploom {

namespace {

MoeTile vllm_tile(std::int64_t tokens) {
  MoeTile tile;
  tile.rows = tokens <= 32 ? 16 : tokens <= 96 ? 32 : tokens <= 512 ? 64 : 128;
  tile.columns = tokens <= 64 ? 64 : 128;
  return tile;
}

// What the tables for A100 and H100 have in common.
MoeTile tuned_tile(std::int64_t tokens) {
  MoeTile tile;
  tile.rows = tokens <= 48 ? 16 : tokens <= 128 ? 32 : tokens <= 768 ? 64 : 128;
  tile.columns = tokens <= 8 ? 64 : tokens <= 192 ? 128 : 256;
  return tile;
}

}  // namespace

MoeTile moe_tile(const MoeShape& shape, double mean_rows, const MoeConstants& constants) {
  MoeTile tile;
  tile.main_loop = constants.main_loop;
  switch (constants.tile_rule) {
    case MoeTileRule::rows:
      tile.rows = std::clamp(std::exp2(std::ceil(std::log2(std::max(1.0, mean_rows)))),
                             static_cast<double>(constants.tile_tokens_minimum),
                             static_cast<double>(constants.tile_tokens_maximum));
      tile.columns = constants.tile_columns;
      break;
    case MoeTileRule::vllm:
      tile.rows = vllm_tile(shape.tokens).rows;
      tile.columns = vllm_tile(shape.tokens).columns;
      break;
    case MoeTileRule::vllm_block_scaled:
      tile.rows = shape.tokens <= 64 ? 16 : 64;
      tile.columns = 128;
      break;
    case MoeTileRule::vllm_first: {
      const bool is_tuned = std::any_of(constants.tuned.begin(), constants.tuned.end(), [&](const TunedExperts& known) {
        return known.experts == shape.local_experts && known.intermediate == shape.intermediate;
      });
      const bool is_sparse = shape.tokens <= shape.local_experts;
      tile.rows = is_tuned ? tuned_tile(shape.tokens).rows : is_sparse ? 16 : 64;
      tile.columns = is_tuned ? tuned_tile(shape.tokens).columns : is_sparse ? 32 : 64;
      if (!is_tuned) tile.main_loop = constants.untuned_main_loop;
      break;
    }
  }
  return tile;
}

}  // namespace warploom
