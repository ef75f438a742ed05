// SPDX-License-Identifier: Apache-2.0
// The engines' tables and rules; the header says where they are from.
#include "hw_models/kernels/serving_gemm_kernel.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "hw_models/kernels/l2_residency.hpp"
#include "hw_models/kernels/tensor_bytes.hpp"

namespace warploom {

namespace {

std::int64_t count(std::int64_t size, std::int64_t part) { return (size + part - 1) / part; }

// ---- SM89: CUTLASS 2, products of warps ---------------------------------------------------------------------------

ServingGemmKernel by_warps(GemmTile tile, GemmTile warp_tile, int step_bytes, int warps_along_k, int stages) {
  ServingGemmKernel kernel;
  kernel.tile = tile;
  kernel.warp_tile = warp_tile;
  kernel.step_bytes = step_bytes;
  kernel.warps_along_k = warps_along_k;
  kernel.stages = stages;
  kernel.is_persistent = false;
  return kernel;
}

ServingGemmKernel few_rows(std::int64_t m, std::int64_t n) {
  const GemmTile warp{16, 64};
  const ServingGemmKernel one = by_warps({16, 64}, warp, 128, 2, 7);
  const ServingGemmKernel two = by_warps({32, 64}, warp, 128, 2, 5);
  if (m == 1) return n <= 8192 ? one : two;
  if (m <= 16) return n <= 8192 ? by_warps({16, 64}, warp, 128, 2, 4) : n <= 16384 ? two : one;
  return n <= 16384 ? by_warps({32, 64}, warp, 128, 2, 7) : one;
}

ServingGemmKernel table_of_sm89(std::int64_t m, std::int64_t n) {
  const GemmTile wide{64, 32};
  if (m <= 64) return few_rows(m, n);
  if (m <= 128) {
    return n <= 16384 ? by_warps({64, 64}, {32, 64}, 128, 2, n <= 8192 ? 4 : 5)
                      : by_warps({32, 64}, {16, 64}, 128, 2, 5);
  }
  if (m <= 256) {
    return n <= 8192    ? by_warps({128, 64}, wide, 64, 1, 5)
           : n <= 16384 ? by_warps({64, 128}, wide, 64, 1, 7)
                        : by_warps({128, 64}, wide, 128, 1, 4);
  }
  if (m <= 512) return by_warps({128, 128}, wide, 64, 1, n <= 16384 ? 2 : 4);
  return by_warps({128, 128}, wide, 64, 1, n <= 8192 ? 3 : 2);
}

// ---- SM90 and SM100: CUTLASS 3 ------------------------------------------------------------------------------------

ServingGemmKernel table_of_sm90(std::int64_t m) {
  ServingGemmKernel kernel;
  kernel.takes_turns = m > 1;
  kernel.is_persistent = m > 1;
  kernel.tile = m <= 256 ? GemmTile{64, 64} : GemmTile{128, 128};
  kernel.cluster_n = m <= 1 ? 8 : m <= 64 ? 4 : 1;
  kernel.cluster_m = m > 1024 ? 2 : 1;
  return kernel;
}

// Tiles of pairs are of 128 or 256 rows, half of them each SM's.
ServingGemmKernel table_of_sm100(std::int64_t m) {
  ServingGemmKernel kernel;
  const std::int64_t padded = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(m)));
  if (padded <= 64) {
    kernel.tile = {64, 64};
    kernel.cluster_n = padded <= 16 ? 4 : 1;
    return kernel;
  }
  kernel.is_pair = true;
  kernel.cluster_m = 2;
  kernel.tile = padded <= 256 ? GemmTile{64, 128} : GemmTile{128, 128};
  kernel.step_bytes = padded <= 256 ? 128 : 64;
  kernel.cluster_n = padded <= 256 ? 1 : 2;
  return kernel;
}

ServingGemmKernel nvfp4() {
  ServingGemmKernel kernel;
  kernel.tile = {128, 128};
  kernel.is_pair = true;
  kernel.cluster_m = 2;
  kernel.cluster_n = 4;
  return kernel;
}

// ---- DeepGEMM -----------------------------------------------------------------------------------------------------

struct Candidate {
  GemmTile tile;
  std::int64_t waves = 0;
  std::int64_t last = 0;  // blocks of the last wave
};

// Fewer waves; then more blocks in the last; then the smaller tile of two with one side alike, else the wider.
bool is_better(const Candidate& one, const Candidate& best, const GemmShape& shape) {
  if (best.waves == 0 || one.waves < best.waves) return true;
  if (one.waves > best.waves) return false;
  if (one.last != best.last) return one.last > best.last;
  if (one.tile.m == best.tile.m) return one.tile.n < best.tile.n;
  if (one.tile.n == best.tile.n) return one.tile.m < best.tile.m;
  return one.tile.n > best.tile.n && one.tile.n <= shape.n && one.tile.m <= shape.m;
}

bool is_legal(const GemmTile& tile, bool has_tensor_memory) {
  // Two accumulators and the scales in 512 columns; one row of lanes.
  if (has_tensor_memory) return tile.m == 128 && 2 * tile.n + tile.n / 32 + 4 <= 512;
  if (tile.m > 128 && tile.n > 128) return false;
  // A tile with scales of two blocks of 128 columns is unrolled where they cut it evenly.
  return tile.n <= 128 || tile.n == 144 || tile.n == 160 || tile.n == 192;
}

ServingGemmKernel deep_gemm(const GemmShape& shape, const DeviceSpec& device, bool has_tensor_memory) {
  constexpr int rows[] = {64, 128, 256};
  constexpr int widest = 256;
  constexpr int column_step = 16;
  Candidate best;
  for (const int m : rows) {
    for (int n = column_step; n <= widest; n += column_step) {
      Candidate one{.tile = {m, n}};
      if (!is_legal(one.tile, has_tensor_memory)) continue;
      const std::int64_t blocks = shape.batch * count(shape.m, m) * count(shape.n, n);
      one.waves = count(blocks, device.sm.count);
      one.last = blocks % device.sm.count == 0 ? device.sm.count : blocks % device.sm.count;
      if (is_better(one, best, shape)) best = one;
    }
  }
  ServingGemmKernel kernel;
  kernel.tile = best.tile;
  kernel.goes_by_groups = true;
  kernel.promotes = !has_tensor_memory;
  constexpr std::int64_t fewest_rows = 512;  // for clusters
  if (shape.m < fewest_rows || device.sm.count % 2 != 0) return kernel;
  const bool has_even_rows = count(shape.m, best.tile.m) % 2 == 0;
  const bool has_even_columns = count(shape.n, best.tile.n) % 2 == 0;
  if (has_tensor_memory) {
    kernel.is_pair = has_even_rows;
    kernel.cluster_m = has_even_rows ? 2 : 1;
  } else if (has_even_rows && (best.tile.m <= best.tile.n || !has_even_columns)) {
    kernel.cluster_m = 2;
  } else if (has_even_columns) {
    kernel.cluster_n = 2;
  }
  return kernel;
}

ServingGemmKernel choose(const GemmShape& shape, const DeviceSpec& device) {
  const TensorUnit unit = device.architecture.pipeline.tensor_unit;
  if (unit == TensorUnit::mma) return table_of_sm89(shape.m, shape.n);
  const bool has_tensor_memory = unit == TensorUnit::tcgen05;
  if (bits(product_type(shape)) < 8) return nvfp4();
  if (shape.split_accumulator) return deep_gemm(shape, device, has_tensor_memory);
  return has_tensor_memory ? table_of_sm100(shape.m) : table_of_sm90(shape.m);
}

double operand_bytes(std::int64_t batch, std::int64_t rows, std::int64_t depth, DataType type) {
  return as_double(batch) * as_double(rows) * as_double(depth) * bits(type) / 8.0;
}

}  // namespace

ServingGemmKernel serving_gemm_kernel(const GemmShape& shape, const DeviceSpec& device) {
  ServingGemmKernel kernel = choose(shape, device);
  if (shape.tile_m > 0) {
    kernel.tile = {static_cast<int>(shape.tile_m), static_cast<int>(shape.tile_n)};
    kernel.warp_tile = {std::min(kernel.tile.m, 64), std::min(kernel.tile.n, 32)};
    kernel.warps_along_k = 1;
    kernel.stages = 0;
  }
  return kernel;
}

TileCounts serving_gemm_tiles(const ServingGemmKernel& kernel, const GemmShape& shape) {
  return {as_double(count(shape.m, std::int64_t{kernel.tile.m} * kernel.cluster_m) * kernel.cluster_m),
          as_double(count(shape.n, std::int64_t{kernel.tile.n} * kernel.cluster_n) * kernel.cluster_n)};
}

OperandBytes serving_gemm_traffic(const ServingGemmKernel& kernel, const GemmShape& shape, const DeviceSpec& device) {
  if (kernel.goes_by_groups) {
    return gemm_operand_traffic(gemm_blocking(kernel.tile, 1, shape), shape, device);
  }
  const TileCounts tiles = serving_gemm_tiles(kernel, shape);
  const double waves = as_double(shape.batch) * tiles.rows * tiles.columns / device.sm.count;
  // CUTLASS 3 goes along the side with fewer tiles, CUTLASS 2 always down the rows. Blocks get out of step, all the
  // more where a cluster has rows to spare and runs ahead: what the next column reads again is as old as the whole
  // operand.
  const bool is_down_rows = !kernel.is_persistent || tiles.columns > tiles.rows;
  const auto reads = [&](double bytes, double times) {
    const double lost = 1 - share_found_in_l2(Bytes(std::llround(bytes)), device);
    return bytes * (1 + (times - 1) * lost * std::clamp(waves - 1, 0.0, 1.0));
  };
  const double a = operand_bytes(1, shape.m, shape.k, shape.input);
  const double b = operand_bytes(1, shape.n, shape.k, weight_type(shape));
  const double batch = as_double(shape.batch);
  if (!kernel.is_persistent) {
    // [read off] gemm_quantized.csv of L40S: three columns at a time still share what they read.
    constexpr double sharing = 3;
    const double at_once = 2 * device.sm.count / tiles.rows;
    return {batch * reads(a, std::max(tiles.columns / std::max(at_once / sharing, 1.0), 1.0)), batch * b};
  }
  // Blackwell hands tiles out as blocks end, which keeps nothing in step.
  const bool is_ragged = kernel.is_pair || shape.m % (std::int64_t{kernel.tile.m} * kernel.cluster_m) != 0;
  const double lines = is_down_rows ? tiles.rows : tiles.columns;
  // [read off] gemm_quantized.csv of H100: of the lines of tiles at work, a square root's share reads together.
  const double together = is_ragged ? 1 : std::sqrt(std::max(device.sm.count / lines, 1.0));
  if (is_down_rows) return {batch * reads(a, std::max(tiles.columns / kernel.cluster_n / together, 1.0)), batch * b};
  return {batch * a, batch * reads(b, std::max(tiles.rows / kernel.cluster_m / together, 1.0))};
}

ColdShares serving_gemm_cold_shares(const GemmShape& shape, const DeviceSpec& device) {
  if (!shape.is_warm) return {};
  constexpr double operations = 6;
  const double a = operand_bytes(shape.batch, shape.m, shape.k, shape.input);
  const double values = operand_bytes(shape.batch, shape.m, shape.k, DataType::bf16);
  const double b = operand_bytes(shape.batch, shape.k, shape.n, weight_type(shape));
  const double c = operand_bytes(shape.batch, shape.m, shape.n, shape.output);
  const auto cold = [&](double until_again) { return 1 - share_found_in_l2(Bytes(std::llround(until_again)), device); };
  const double round = operations * (values + a + b + c);
  const bool stays = device.architecture.pipeline.tensor_unit == TensorUnit::mma;  // as gemm_cold_shares()
  return {cold(values + a), cold(round), stays ? cold(round) : 1};
}

}  // namespace warploom
