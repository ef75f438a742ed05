// SPDX-License-Identifier: Apache-2.0
// GEMM of a serving engine with quantised operands: the kernel that quantises the activations, then the product.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "hw_models/analytic_timer.hpp"
#include "hw_models/kernels/gemm.hpp"
#include "hw_models/kernels/quantize.hpp"
#include "hw_models/precision.hpp"
#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"
#include "workloads/device_lookup.hpp"
#include "workloads/kernel_prediction.hpp"
#include "workloads/validation/kernel_row.hpp"
#include "workloads/validation/tables.hpp"
#include "workloads/validation/validation_context.hpp"

namespace warploom {

namespace {

// DeepGEMM starts while the kernel before it ends (programmatic dependent launch). On Hopper that is the quantisation,
// whose FP32 scales it takes as they are; on Blackwell it wants them packed to UE8M0, which kernels of their own do in
// between (DeepGEMM's README on scaling factors of SM90 and SM100; `quantize_block_fixed` of the architecture).
bool starts_early(const GemmShape& product, const DeviceSpec& device) {
  return product.split_accumulator && device.architecture.name.starts_with("Hopper");
}

class GemmQuantizedTable final : public TableKind {
 public:
  std::string_view name() const override { return "gemm_quantized"; }
  std::string_view meaning() const override {
    return "quantised matrix products of a serving engine, the quantisation of the activations included";
  }
  std::span<const std::string_view> columns() const override {
    static constexpr std::array<std::string_view, 7> names = {"device", "dtype", "kernel", "m", "n", "k", "latency_us"};
    return names;
  }
  std::span<const std::string_view> shape_columns() const override {
    static constexpr std::array<std::string_view, 5> names = {"dtype", "kernel", "m", "n", "k"};
    return names;
  }

  Predicted predict(const CsvRow& row, ValidationContext& context) const override {
    Predicted result;
    result.measured_us = row.positive_number("latency_us");
    const FoundDevice& device = context.device(row.text("device"));
    const auto precision = find_precision(row.text("dtype"));
    if (!precision) throw UserError(fmt::format("the precision {} is not modelled", quoted(row.text("dtype"))));
    GemmShape shape;
    shape.m = row.positive_integer("m");
    shape.n = row.positive_integer("n");
    shape.k = row.positive_integer("k");
    shape.input = precision->products();
    shape.is_warm = true;
    const ServingProduct how = serving_product(*precision);
    shape.is_serving = how.is_serving;
    shape.split_accumulator = how.has_split_accumulator;
    const Kernel product = gemm(shape);
    result.device = device.name;
    result.dtype = precision->name;
    result.size_class = gemm_size_class(shape.m, shape.n, shape.k, result.measured_us);
    result.predicted_us = benchmark_us(product, device, LaunchMode::graph);
    add_features(product, result.baseline);
    if (precision->is_quantised()) {
      const Kernel cast = quantize({.rows = shape.m,
                                    .width = shape.k,
                                    .block = std::max<std::int64_t>(precision->scale_block, 0),
                                    .to = precision->activations,
                                    .is_warm = true});
      result.predicted_us += benchmark_us(cast, device, LaunchMode::graph);
      if (starts_early(shape, device.spec)) result.predicted_us -= device.spec.launch.graph.microseconds();
      add_features(cast, result.baseline);
    }
    result.fold_key = fmt::format("{} x {}", shape.n, shape.k);
    return result;
  }
};

}  // namespace

const TableKind& gemm_quantized_table() {
  static const GemmQuantizedTable table;
  return table;
}

}  // namespace warploom
