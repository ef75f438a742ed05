// SPDX-License-Identifier: Apache-2.0
// The choice of tile and parts; the rule is in the header.
#include "hw_models/kernels/gemm_blocking.hpp"
#include "hw_models/kernels/tensor_bytes.hpp"

#include <algorithm>
#include <cmath>

namespace warploom {

namespace {

// Cycles of one step at the rates that the library was tuned for; a step is as many bytes of every type.
double nominal_step(const GemmTile& tile, const DeviceSpec& device, double active) {
  const auto& constants = device.architecture.gemm;
  const double depth = gemm_step_bytes / 2.0;  // of 16-bit operands
  const double products = 2.0 * tile.m * tile.n * depth / constants.nominal_flops_per_cycle;
  const double l2_rate =
      std::min(constants.port_bytes_per_cycle, constants.nominal_l2_bytes_per_cycle_per_sm * device.sm.count / active);
  return std::max(products, (tile.m + tile.n) * static_cast<double>(gemm_step_bytes) / constants.multicast / l2_rate);
}

}  // namespace

double gemm_flops(const GemmShape& shape) {
  return 2 * as_double(shape.batch) * as_double(shape.m) * as_double(shape.n) * as_double(shape.k);
}

GemmBlocking gemm_blocking(const GemmTile& tile, double parts, const GemmShape& shape) {
  GemmBlocking blocking;
  blocking.tile = tile;
  blocking.parts = parts;
  blocking.steps = std::ceil(as_double(shape.k) * bits(product_type(shape)) / 8.0 / (gemm_step_bytes * parts));
  blocking.blocks =
      as_double(shape.batch) * std::ceil(as_double(shape.m) / tile.m) * std::ceil(as_double(shape.n) / tile.n) * parts;
  return blocking;
}

double gemm_parts(const GemmTile& tile, const GemmShape& shape, const DeviceSpec& device) {
  if (shape.split_k > 0) return as_double(shape.split_k);
  const auto& constants = device.architecture.gemm;
  const double blocks = gemm_blocking(tile, 1, shape).blocks;
  if (shape.is_serving || blocks * 2 > device.sm.count) return 1;
  const double deep_enough = std::floor(as_double(shape.k) / constants.split_minimum_depth);
  const double parts = std::min({std::floor(device.sm.count / blocks), deep_enough, constants.split_maximum});
  return std::max(parts, 1.0);
}

GemmBlocking choose_gemm_blocking(const GemmShape& shape, const DeviceSpec& device) {
  if (shape.tile_m > 0) {
    return gemm_blocking({static_cast<int>(shape.tile_m), static_cast<int>(shape.tile_n)},
                         as_double(std::max<std::int64_t>(shape.split_k, 1)), shape);
  }
  GemmBlocking best;
  double best_score = 0;
  for (const GemmTile& tile : device.architecture.gemm.tiles) {
    const GemmBlocking candidate = gemm_blocking(tile, gemm_parts(tile, shape, device), shape);
    const double score = std::ceil(candidate.blocks / device.sm.count) * candidate.steps *
                         nominal_step(tile, device, std::min<double>(candidate.blocks, device.sm.count));
    const auto area = [](const GemmTile& t) { return t.m * t.n; };
    const bool is_tie = score == best_score;
    const bool wins_tie =
        candidate.parts < best.parts || (candidate.parts == best.parts && area(tile) > area(best.tile));
    if (best.blocks == 0 || score < best_score || (is_tie && wins_tie)) {
      best = candidate;
      best_score = score;
    }
  }
  return best;
}

double gemm_operand_traffic(const GemmBlocking& blocking, const GemmShape& shape, const DeviceSpec& device) {
  const double wave = std::min<double>(device.sm.count, blocking.blocks / as_double(shape.batch) / blocking.parts);
  const double a_row = as_double(shape.k) * bits(shape.input) / 8.0;  // bytes
  const double b_row = as_double(shape.k) * bits(weight_type(shape)) / 8.0;
  const double l2 = static_cast<double>(device.l2.capacity.count()) * device.architecture.gemm.l2_share;
  struct Side {
    double count;
    double tile;
    double bytes;  // of one row or column
  };
  const auto traffic = [&](const Side& row, const Side& column) {
    const auto [rows, row_tile, row_bytes] = row;
    const auto [columns, column_tile, column_bytes] = column;
    const double row_count = std::ceil(rows / row_tile);
    const double column_count = std::ceil(columns / column_tile);
    const double width = std::clamp(std::round(std::sqrt(wave * row_tile / column_tile)), 1.0, column_count);
    const double height = std::clamp(std::ceil(wave / width), 1.0, row_count);
    const double groups = std::ceil(column_count / width);
    const bool panel_stays = width * column_tile * column_bytes / blocking.parts <= l2;
    const double waves_a_group = std::ceil(row_count / height);
    const double a = rows * row_bytes;
    const double b = columns * column_bytes;
    const double a_reads = a + b <= l2 ? 1 : groups;
    return a * a_reads + b * (panel_stays || a + b <= l2 ? 1 : waves_a_group);
  };
  const Side m{as_double(shape.m), static_cast<double>(blocking.tile.m), a_row};
  const Side n{as_double(shape.n), static_cast<double>(blocking.tile.n), b_row};
  return as_double(shape.batch) * std::min(traffic(m, n), traffic(n, m));
}

}  // namespace warploom
