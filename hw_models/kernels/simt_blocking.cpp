// SPDX-License-Identifier: Apache-2.0
// The rule, and the rates that it counts in.
#include "hw_models/kernels/simt_blocking.hpp"

#include <algorithm>
#include <cmath>

#include "hw_models/kernels/tensor_bytes.hpp"

namespace warploom {

namespace {

constexpr double warp = 32;
constexpr double schedulers = 4;  // of an SM, one instruction of a warp a clock each

double threads_of(const GemmTile& tile) { return std::clamp(static_cast<double>(tile.m) * tile.n / 64, 64.0, 256.0); }

}  // namespace

double simt_cycles_of_product(const SimtBlock& block, const SimtRates& rates, const SimtGemmConstants& constants) {
  const double edges = 1.0 / block.tile.m + 1.0 / block.tile.n;  // operands that a block loads a multiply-add
  const double arithmetic = 1 / rates.lanes;
  const double issue = (1 + constants.other_instructions * block.loads_a_result()) / (schedulers * warp);
  const double shared =
      4 * (constants.operand_loads * block.loads_a_result() + constants.staging * edges) / rates.shared_bytes;
  const double l2 = 4 * edges / rates.l2_bytes;
  const double p = constants.sharpness;
  return std::pow(std::pow(std::max(arithmetic, issue), p) + std::pow(shared, p) + std::pow(l2, p), 1 / p);
}

double simt_blocks(const SimtBlock& block, const GemmShape& shape) {
  return as_double(shape.batch) * std::ceil(as_double(shape.m) / block.tile.m) *
         std::ceil(as_double(shape.n) / block.tile.n) * block.parts;
}

// Fewest waves x results of a tile, at the loads of 64 lanes; the larger tile in a tie. The rule counts in no rate of
// the device.
SimtBlock choose_simt_block(const GemmShape& shape, const DeviceSpec& device) {
  SimtBlock chosen;
  chosen.parts = std::max(1.0, as_double(shape.split_k));
  chosen.sliced = shape.is_sliced;
  if (shape.is_deterministic && shape.tile_m == 0) {
    // As the batch-invariant kernels of Tensor Cores: one tile for all m (gemm_blocking.cpp).
    chosen.tile = {128, 128};
    chosen.threads = threads_of(chosen.tile);
    return chosen;
  }
  if (shape.tile_m > 0) {
    chosen.tile = {static_cast<int>(shape.tile_m), static_cast<int>(shape.tile_n)};
    chosen.threads = shape.threads > 0 ? as_double(shape.threads) : threads_of(chosen.tile);
    return chosen;
  }
  static constexpr GemmTile tiles[] = {{256, 128}, {128, 256}, {128, 128}, {128, 64}, {64, 128}, {64, 64},
                                       {128, 32},  {32, 128},  {64, 32},   {32, 64},  {32, 32}};
  double best = 0;
  for (const GemmTile& tile : tiles) {
    SimtBlock block = chosen;
    block.tile = tile;
    block.threads = threads_of(tile);
    const double waves = std::ceil(simt_blocks(block, shape) / device.sm.count);
    const double score = waves * block.results() * simt_cycles_of_product(block, {}, device.architecture.simt_gemm);
    if (best != 0 && score >= best) continue;
    best = score;
    chosen = block;
  }
  return chosen;
}

}  // namespace warploom
