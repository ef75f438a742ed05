// SPDX-License-Identifier: Apache-2.0
// The choice of tile and parts; the rule is in the header.
#include "hw_models/kernels/gemm_blocking.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "hw_models/kernels/stream_k.hpp"
#include "hw_models/kernels/tensor_bytes.hpp"

namespace warploom {

namespace {

// Cycles of one step at the rates that the library was tuned for; a step is as many bytes of every type. Sparse
// products take half as long, and their B is a little more than half as many bytes.
double nominal_step(const GemmTile& tile, const GemmShape& shape, const DeviceSpec& device, double active) {
  const auto& constants = device.architecture.gemm;
  const double depth = gemm_step_bytes / 2.0;  // of 16-bit operands
  const double rate = constants.nominal_flops_per_cycle * (shape.is_sparse ? 2 : 1);
  const double products = 2.0 * tile.m * tile.n * depth / rate;
  const double l2_rate =
      std::min(constants.port_bytes_per_cycle, constants.nominal_l2_bytes_per_cycle_per_sm * device.sm.count / active);
  const double columns = shape.is_sparse ? tile.n * weight_bits(shape) / bits(weight_type(shape)) : tile.n;
  return std::max(products, (tile.m + columns) * static_cast<double>(gemm_step_bytes) / constants.multicast / l2_rate);
}

// A cut of k has to save so much: it needs room, and its sums come in another order.
constexpr double split_gain = 0.05;

// [documented] thinking-machines-lab/batch_invariant_ops@3d56b5a, matmul_persistent: one tile and pipeline a type.
GemmBlocking deterministic_blocking(const GemmShape& shape) {
  const int columns = product_type(shape) == DataType::fp16 ? 256 : 128;
  GemmBlocking blocking = gemm_blocking({128, columns}, 1, shape);
  blocking.stages = 3;
  return blocking;
}

GemmBlocking named_blocking(const GemmShape& shape) {
  const GemmTile tile{static_cast<int>(shape.tile_m), static_cast<int>(shape.tile_n)};
  GemmBlocking blocking = gemm_blocking(tile, as_double(std::max<std::int64_t>(shape.split_k, 1)), shape);
  blocking.stages = shape.stages;
  blocking.cluster = shape.cluster;
  return blocking;
}

const GemmSelection* row_of(const GemmShape& shape, const DeviceSpec& device) {
  // Who names parts or stream-K asks for another kernel, and serving engines have their own.
  if (shape.is_serving || shape.split_k > 0 || shape.is_stream_k) return nullptr;
  for (const GemmSelection& row : device.architecture.gemm.selection.rows) {
    const bool fits = row.dtype == product_type(shape) && row.m.has(shape.m) && row.n.has(shape.n) &&
                      row.k.has(shape.k) && row.split_k <= shape.k;
    if (fits) return &row;
  }
  return nullptr;
}

}  // namespace

// Of all waves, and of adding the parts: written and read in FP32 by a kernel of its own, or by the kernel itself.
double gemm_nominal_cycles(const GemmBlocking& blocking, const GemmShape& shape, const DeviceSpec& device) {
  constexpr double second_kernel = 2000;  // cycles: a little more than a microsecond
  const double active = std::min<double>(blocking.blocks, device.sm.count);
  const double l2 = device.architecture.gemm.nominal_l2_bytes_per_cycle_per_sm * device.sm.count;
  if (blocking.is_stream_k) {
    const StreamKCost cost = stream_k_cost(blocking.blocks, blocking.steps, device.sm.count);
    const double step = nominal_step(blocking.tile, shape, device, device.sm.count);
    const double stored = 2 * sizeof(float) * cost.stored * blocking.tile.m * blocking.tile.n;
    return cost.waves * blocking.steps * step + stored / l2;
  }
  const double waves = std::ceil(blocking.blocks / device.sm.count);
  const double cycles = waves * blocking.steps * nominal_step(blocking.tile, shape, device, active);
  if (blocking.parts == 1) return cycles;
  const double results = as_double(shape.batch) * as_double(shape.m) * as_double(shape.n);
  return cycles + second_kernel + 2 * sizeof(float) * results * blocking.parts / l2;
}

double gemm_flops(const GemmShape& shape) {
  return 2 * as_double(shape.batch) * as_double(shape.m) * as_double(shape.n) * as_double(shape.k);
}

GemmBlocking gemm_blocking(const GemmTile& tile, double parts, const GemmShape& shape) {
  GemmBlocking blocking;
  blocking.tile = tile;
  blocking.parts = parts;
  blocking.is_stream_k = shape.is_stream_k;
  blocking.steps = std::ceil(as_double(shape.k) * bits(product_type(shape)) / 8.0 / (gemm_step_bytes * parts));
  blocking.blocks =
      as_double(shape.batch) * std::ceil(as_double(shape.m) / tile.m) * std::ceil(as_double(shape.n) / tile.n) * parts;
  return blocking;
}

double gemm_parts(const GemmTile& tile, const GemmShape& shape, const DeviceSpec& device) {
  if (shape.split_k > 0) return as_double(shape.split_k);
  const auto& constants = device.architecture.gemm;
  if (shape.is_serving || shape.is_stream_k || shape.is_deterministic) return 1;
  const double deep_enough = std::floor(as_double(shape.k) / constants.split_minimum_depth);
  const double most = std::clamp(std::min(deep_enough, constants.split_maximum), 1.0, 64.0);
  double best = 1;
  double least = std::numeric_limits<double>::infinity();
  for (double parts = 1; parts <= most; ++parts) {
    const double cycles = gemm_nominal_cycles(gemm_blocking(tile, parts, shape), shape, device);
    if (cycles >= least * (1 - split_gain)) continue;
    least = cycles;
    best = parts;
  }
  return best;
}

std::vector<GemmCandidate> gemm_candidates(const GemmShape& shape, const DeviceSpec& device) {
  std::vector<GemmCandidate> candidates;
  for (const GemmTile& tile : device.architecture.gemm.tiles) {
    // Serving engines are built with tiles of 128 x 128 and less (vLLM and SGLang's CUTLASS kernels; DeepGEMM's double
    // sums leave room for no more).
    if (shape.is_serving && tile.m * tile.n > 128 * 128) continue;
    GemmBlocking blocking = gemm_blocking(tile, gemm_parts(tile, shape, device), shape);
    blocking.stages = shape.stages;
    blocking.cluster = shape.cluster;
    candidates.push_back({blocking, gemm_nominal_cycles(blocking, shape, device)});
  }
  return candidates;
}

GemmBlocking ruled_gemm_blocking(const GemmShape& shape, const DeviceSpec& device) {
  const std::vector<GemmCandidate> candidates = gemm_candidates(shape, device);
  double least = std::numeric_limits<double>::infinity();
  for (const GemmCandidate& candidate : candidates) least = std::min(least, candidate.cycles);
  const auto area = [](const GemmTile& tile) { return tile.m * tile.n; };
  GemmBlocking best;
  for (const GemmCandidate& candidate : candidates) {
    if (candidate.cycles > least * (1 + gemm_tile_gain)) continue;
    const GemmBlocking& one = candidate.blocking;
    const bool is_better = one.parts < best.parts || (one.parts == best.parts && area(one.tile) > area(best.tile));
    if (best.blocks == 0 || is_better) best = one;
  }
  return best;
}

GemmChoice choose_gemm(const GemmShape& shape, const DeviceSpec& device) {
  if (shape.tile_m > 0) return {named_blocking(shape), ChosenBy::caller, nullptr};
  if (shape.is_deterministic) return {deterministic_blocking(shape), ChosenBy::rule, nullptr};
  if (const GemmSelection* row = row_of(shape, device)) {
    GemmBlocking blocking = gemm_blocking(row->tile, row->split_k, shape);
    blocking.is_stream_k = row->stream_k;
    blocking.stages = row->stages;
    blocking.cluster = row->cluster;
    return {blocking, ChosenBy::table, row};
  }
  return {ruled_gemm_blocking(shape, device), ChosenBy::rule, nullptr};
}

OperandBytes gemm_operand_traffic(const GemmBlocking& blocking, const GemmShape& shape, const DeviceSpec& device) {
  const double wave = std::min<double>(device.sm.count, blocking.blocks / as_double(shape.batch) / blocking.parts);
  const double a_row = as_double(shape.k) * bits(shape.input) / 8.0;  // bytes
  const double b_row = as_double(shape.k) * weight_bits(shape) / 8.0;
  const double l2 = static_cast<double>(device.l2.capacity.count()) * device.architecture.gemm.l2_share;
  struct Side {
    double count;
    double tile;
    double bytes;  // of one row or column
  };
  const auto traffic = [&](const Side& row, const Side& column) -> OperandBytes {
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
    return {a * a_reads, b * (panel_stays || a + b <= l2 ? 1 : waves_a_group)};
  };
  const Side m{as_double(shape.m), static_cast<double>(blocking.tile.m), a_row};
  const Side n{as_double(shape.n), static_cast<double>(blocking.tile.n), b_row};
  const OperandBytes by_rows = traffic(m, n);
  const OperandBytes by_columns = traffic(n, m);
  const bool is_by_rows = by_rows.both() <= by_columns.both();
  const double batch = as_double(shape.batch);
  return is_by_rows ? OperandBytes{batch * by_rows.a, batch * by_rows.b}
                    : OperandBytes{batch * by_columns.b, batch * by_columns.a};
}

ColdShares gemm_cold_shares(const GemmShape& shape, const DeviceSpec& device) {
  if (!shape.is_warm) return {};
  constexpr double copies = 5;
  const double batch = as_double(shape.batch);
  const double a = batch * as_double(shape.m) * as_double(shape.k) * bits(shape.input) / 8.0;
  const double b = batch * as_double(shape.k) * as_double(shape.n) * weight_bits(shape) / 8.0;
  const double c = batch * as_double(shape.m) * as_double(shape.n) * bits(shape.output) / 8.0;
  const double kept = static_cast<double>(device.l2.capacity.count()) * device.architecture.gemm.l2_share;
  const auto cold = [&](double until_again) { return std::clamp(until_again / kept - 1, 0.0, 1.0); };
  // Bulk stores of results are the first to be evicted.
  const bool stays = device.architecture.pipeline.tensor_unit == TensorUnit::mma;
  return {cold(a + b + c), cold(a + copies * b + c), stays ? cold(a + b + c) : 1};
}

}  // namespace warploom
