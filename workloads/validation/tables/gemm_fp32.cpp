// SPDX-License-Identifier: Apache-2.0
// FP32 GEMM on the vector lanes with the library's kernel and its grid known.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "hw_models/analytic_timer.hpp"
#include "hw_models/kernels/gemm.hpp"
#include "sim/core/errors.hpp"
#include "workloads/device_lookup.hpp"
#include "workloads/validation/kernel_row.hpp"
#include "workloads/validation/tables.hpp"
#include "workloads/validation/validation_context.hpp"

namespace warploom {

namespace {

// What events around one eager launch measure beside the kernel. [fit] By machine: small products of the A100 80 GB and
// H100 hosts take 14 to 19 us more than the kernel, those of the others 30 to 38.
double around_launch_us(std::string_view device) {
  return device == "a100_pcie_80gb" || device == "h100_sxm" ? 16 : 33;
}

// Blocks that a grid has with this tile.
double blocks_of(const GemmShape& shape, std::int64_t tile_m, std::int64_t tile_n) {
  const auto number = [](std::int64_t value) { return static_cast<double>(value); };
  return number(shape.batch) * std::ceil(number(shape.m) / number(tile_m)) *
         std::ceil(number(shape.n) / number(tile_n)) * number(std::max<std::int64_t>(shape.split_k, 1));
}

class GemmFp32Table final : public TableKind {
 public:
  std::string_view name() const override { return "gemm_fp32"; }
  std::string_view meaning() const override { return "FP32 matrix products whose kernel, tile and grid are known"; }
  std::span<const std::string_view> columns() const override {
    static constexpr std::array<std::string_view, 12> names = {
        "device", "batch", "m", "n", "k", "kernel", "tile_a", "tile_b", "grid_x", "grid_y", "grid_z", "latency_us"};
    return names;
  }
  std::span<const std::string_view> shape_columns() const override {
    static constexpr std::array<std::string_view, 5> names = {"op", "batch", "m", "n", "k"};
    return names;
  }

  Predicted predict(const CsvRow& row, ValidationContext& context) const override {
    Predicted result;
    result.measured_us = row.positive_number("latency_us");
    const FoundDevice& device = context.device(row.text("device"));
    const std::string kernel_name(row.text("kernel"));
    GemmShape shape;
    shape.batch = row.positive_integer("batch");
    shape.m = row.positive_integer("m");
    shape.n = row.positive_integer("n");
    shape.k = row.positive_integer("k");
    shape.input = shape.output = DataType::fp32;
    shape.is_warm = true;
    shape.is_transposed = kernel_name.find("_tn") != std::string::npos;
    shape.is_sliced = kernel_name.find("sliced") != std::string::npos;
    shape.threads = row.optional_integer("block_x").value_or(0);
    // The third dimension of a batch's grid is the batch.
    shape.split_k = shape.batch == 1 ? row.optional_integer("split_k").value_or(1) : 1;
    // Libraries count in columns or in rows: the grid says which edge of the tile is m.
    const std::int64_t a = row.positive_integer("tile_a");
    const std::int64_t b = row.positive_integer("tile_b");
    const double grid = row.positive_number("grid_x") * row.positive_number("grid_y") * row.positive_number("grid_z");
    const bool is_turned = std::abs(blocks_of(shape, b, a) - grid) <= std::abs(blocks_of(shape, a, b) - grid);
    shape.tile_m = is_turned ? b : a;
    shape.tile_n = is_turned ? a : b;
    const Kernel kernel = gemm(shape);
    result.device = device.name;
    result.dtype = "fp32";
    if (const auto operation = row.optional_text("op")) result.group = {{"op", std::string(*operation)}};
    result.size_class = result.measured_us < 1000 ? "under 1 ms" : "1 ms and more";
    result.predicted_us = benchmark_us(kernel, device, LaunchMode::graph) - device.spec.launch.graph.microseconds() +
                          around_launch_us(device.name);
    add_features(kernel, result.baseline);
    result.fold_key = fmt::format("{} x {}", shape.n, shape.k);
    return result;
  }
};

}  // namespace

const TableKind& gemm_fp32_table() {
  static const GemmFp32Table table;
  return table;
}

}  // namespace warploom
