// SPDX-License-Identifier: Apache-2.0
// GEMM of the vendor's library inside a CUDA graph, median of several campaigns with their range where it is known.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "hw_models/analytic_timer.hpp"
#include "hw_models/kernels/gemm.hpp"
#include "hw_models/kernels/gemm_kernel_name.hpp"
#include "sim/core/errors.hpp"
#include "workloads/device_lookup.hpp"
#include "workloads/validation/kernel_row.hpp"
#include "workloads/validation/tables.hpp"
#include "workloads/validation/validation_context.hpp"

namespace warploom {

namespace {

// Where the row says which kernel ran (`kernel_name`, and its `grid_x`, `grid_y`, `grid_z`), with its tile and parts.
GemmShape with_kernel(const GemmShape& shape, const CsvRow& row) {
  const auto name = row.optional_text("kernel_name");
  if (!name) return shape;
  std::optional<Grid> grid;
  if (const auto x = row.optional_integer("grid_x")) {
    grid = Grid{*x, row.optional_integer("grid_y").value_or(1), row.optional_integer("grid_z").value_or(1)};
    if (std::ranges::any_of(*grid, [](std::int64_t blocks) { return blocks < 1 || blocks > (1LL << 31); })) {
      throw UserError(row.origin(), "expected a grid of 1 to 2^31 blocks in each dimension");
    }
  }
  try {
    return with_kernel_name(shape, parse_gemm_kernel_name(*name), grid);
  } catch (const UserError& error) {
    throw UserError(row.origin(), error.message(), error.hint());
  }
}

class GemmTable final : public TableKind {
 public:
  std::string_view name() const override { return "gemm"; }
  std::string_view meaning() const override { return "matrix products in a CUDA graph: m, n, k and their latency"; }
  std::span<const std::string_view> columns() const override {
    static constexpr std::array<std::string_view, 6> names = {"device", "dtype", "m", "n", "k", "latency_us"};
    return names;
  }
  std::span<const std::string_view> shape_columns() const override {
    static constexpr std::array<std::string_view, 4> names = {"dtype", "m", "n", "k"};
    return names;
  }

  Predicted predict(const CsvRow& row, ValidationContext& context) const override {
    Predicted result;
    result.measured_us = row.positive_number("latency_us");
    result.min_us = row.optional_positive_number("min_us");
    result.max_us = row.optional_positive_number("max_us");
    const FoundDevice& device = context.device(row.text("device"));
    GemmShape shape;
    shape.input = data_type_of(row.text("dtype"));
    shape.output = shape.input;
    shape.m = row.positive_integer("m");
    shape.n = row.positive_integer("n");
    shape.k = row.positive_integer("k");
    shape.is_warm = true;  // the same product again and again: what fits the L2 is still there
    const Kernel kernel = gemm(with_kernel(shape, row));
    result.device = device.name;
    result.dtype = row.text("dtype");
    result.size_class = gemm_size_class(shape.m, shape.n, shape.k, result.measured_us);
    result.predicted_us = benchmark_us(kernel, device, LaunchMode::graph);
    add_features(kernel, result.baseline);
    result.fold_key = fmt::format("{} x {}", shape.n, shape.k);
    return result;
  }
};

}  // namespace

const TableKind& gemm_table() {
  static const GemmTable table;
  return table;
}

}  // namespace warploom
