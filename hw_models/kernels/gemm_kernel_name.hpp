// SPDX-License-Identifier: Apache-2.0
// What the name of a matrix library's kernel says of how it cuts a product: tile, pipeline, cluster, parts.
//
// Names that are understood (from profiles; what their parts mean is documented for CUTLASS alone, docs/profiler.md,
// and agrees with the grids of profiles for the others):
//   ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_tn        cuBLAS up to Ampere: tile, k x stages
//   volta_sgemm_32x32_sliced1x4_nn                                     the same on the vector lanes
//   sm90_xmma_gemm_..._tilesize128x128x64_warpgroupsize1x1x1_...       cuBLAS, xmma: tile with k
//   nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNN                          cuBLAS since Hopper: tile, k x stages, cluster
//   cutlass_80_tensorop_s16816gemm_bf16_128x128_32x5_nn_align8         CUTLASS 2: tile, k x stages
//   cutlass3x_sm90_tensorop_..._128x128x64_2x1x1_0_tnn_align8_...      CUTLASS 3: tile with k, cluster, stages
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hw_models/kernels/gemm.hpp"

namespace warploom {

struct GemmKernelName {
  std::string library;      // `nvjet`, `xmma`, `cuBLAS`, `CUTLASS`
  std::int64_t tile_a = 0;  // as the name has them; libraries that count in columns have n first
  std::int64_t tile_b = 0;
  std::int64_t tile_k = 0;  // 0, here and below: the name does not say
  std::int64_t stages = 0;  // each of tile_k
  std::int64_t cluster = 0;
  std::int64_t threads = 0;
  bool cuts_k = false;  // into parts; how many is not in the name
  bool is_stream_k = false;
  bool is_sliced = false;  // groups of a block's threads share the sums
  bool is_transposed = false;
  bool is_on_lanes = false;  // FP32 without Tensor Cores
};

// Throws UserError where the name is none of those above, and says what it is instead where that is known.
GemmKernelName parse_gemm_kernel_name(std::string_view name);

using Grid = std::array<std::int64_t, 3>;

// `X,Y,Z`. Throws UserError.
Grid parse_grid(std::string_view text);

// The shape with the choice that name and grid show: the grid says which edge of the tile is m, and in how many parts k
// is. Throws UserError where they do not fit the product.
GemmShape with_kernel_name(const GemmShape& shape, const GemmKernelName& name, const std::optional<Grid>& grid);

}  // namespace warploom
