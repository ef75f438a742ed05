// SPDX-License-Identifier: Apache-2.0
// The kernel that a serving engine multiplies quantised operands with: its tile and how it is built, by the engine's
// rule.
//
// Facts only, read in: sgl-kernel's fp8_gemm_kernel.cu (sgl-project/sglang@350439a: FP8 with a scale a token, one table
// each for SM89, SM90 and SM100), DeepGEMM's heuristics (deepseek-ai/DeepGEMM: scales of blocks), FlashInfer's
// fp4_gemm_cutlass_template.h (flashinfer-ai/flashinfer@7ea5b59: NVFP4, the first of its tactics where nobody tunes).
#pragma once

#include "hw_models/device.hpp"
#include "hw_models/kernels/gemm.hpp"
#include "hw_models/kernels/gemm_blocking.hpp"

namespace warploom {

struct ServingGemmKernel {
  GemmTile tile;       // of one SM
  GemmTile warp_tile;  // of one warp, where products are single warps'
  int warps_along_k = 1;
  int step_bytes = 128;      // of an operand's row in a stage
  int stages = 0;            // 0: as many as fit
  int cluster_m = 1;         // blocks above one another, that share reads of B
  int cluster_n = 1;         // blocks side by side, that share those of A
  bool is_pair = false;      // two SMs above one another multiply together, each with half of B
  bool takes_turns = false;  // two warp groups, each with a tile of its own (CUTLASS' ping-pong)
  bool is_persistent = true;
  bool goes_by_groups = false;  // tiles in near-square groups; else column by column, or row by row
  bool promotes = false;        // sums of a stage are scaled and added up in FP32
};

ServingGemmKernel serving_gemm_kernel(const GemmShape& shape, const DeviceSpec& device);

// Tiles of all, whole clusters of them.
struct TileCounts {
  double rows = 1;
  double columns = 1;
};
TileCounts serving_gemm_tiles(const ServingGemmKernel& kernel, const GemmShape& shape);

// Bytes of each operand that are asked of the L2 anew: where tiles go column by column, the operand that all columns
// share comes again for each unless it stays in the L2.
OperandBytes serving_gemm_traffic(const ServingGemmKernel& kernel, const GemmShape& shape, const DeviceSpec& device);

// What the L2 lacks in a benchmark of the engine's operation (aiconfigurator's collector for SGLang: six operations in
// turn with operands of their own): the activations have just been quantised.
ColdShares serving_gemm_cold_shares(const GemmShape& shape, const DeviceSpec& device);

}  // namespace warploom
