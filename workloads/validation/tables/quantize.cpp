// SPDX-License-Identifier: Apache-2.0
// Parts of a quantisation with one scale a tensor: the search for the scale, and the division by it.
//
// aiconfigurator measures the division alone, and both together; its `computescale` is the difference. So what the
// search does to the division's cache (its values are in the L2 then) counts as the search's.
#include <fmt/format.h>

#include <array>

#include "hw_models/analytic_timer.hpp"
#include "hw_models/kernels/quantize.hpp"
#include "hw_models/precision.hpp"
#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"
#include "workloads/device_lookup.hpp"
#include "workloads/validation/kernel_row.hpp"
#include "workloads/validation/tables.hpp"
#include "workloads/validation/validation_context.hpp"

namespace warploom {

namespace {

// One of many in a captured graph, from start to end: no gap.
double kernel_us(const QuantizeShape& shape, const FoundDevice& device) {
  return alone_us(quantize(shape), device, device.spec, LaunchMode::graph);
}

double search_us(QuantizeShape shape, const FoundDevice& device) {
  shape.part = QuantizePart::scale;
  const double search = kernel_us(shape, device);
  shape.part = QuantizePart::cast;
  const double alone = kernel_us(shape, device);
  shape.after_search = true;
  return search + kernel_us(shape, device) - alone;
}

class QuantizeTable final : public TableKind {
 public:
  std::string_view name() const override { return "quantize"; }
  std::string_view meaning() const override { return "search for a scale, and division by it, of m x k values"; }
  std::span<const std::string_view> columns() const override {
    static constexpr std::array<std::string_view, 6> names = {"device", "op", "dtype", "m", "k", "latency_us"};
    return names;
  }
  std::span<const std::string_view> shape_columns() const override {
    static constexpr std::array<std::string_view, 5> names = {"op", "kernel", "dtype", "m", "k"};
    return names;
  }

  Predicted predict(const CsvRow& row, ValidationContext& context) const override {
    Predicted result;
    result.measured_us = row.positive_number("latency_us");
    const FoundDevice& device = context.device(row.text("device"));
    const auto precision = find_precision(row.text("dtype"));
    if (!precision) throw UserError(fmt::format("the precision {} is not modelled", quoted(row.text("dtype"))));
    const std::string operation(row.text("op"));
    if (operation != "computescale" && operation != "scale_matrix")
      throw UserError(fmt::format("the operator {} is not modelled", quoted(operation)));
    QuantizeShape shape;
    shape.rows = row.positive_integer("m");
    shape.width = row.positive_integer("k");
    shape.to = precision->activations;
    shape.part = operation == "computescale" ? QuantizePart::scale : QuantizePart::cast;
    shape.is_warm = true;
    result.device = device.name;
    result.dtype = precision->name;
    result.group = {{"op", operation}};
    result.size_class = result.measured_us < 10 ? "under 10 us" : "10 us and more";
    result.predicted_us = operation == "computescale" ? search_us(shape, device) : kernel_us(shape, device);
    add_features(quantize(shape), result.baseline);
    result.fold_key = fmt::format("{} x {}", shape.rows, shape.width);
    return result;
  }
};

}  // namespace

const TableKind& quantize_table() {
  static const QuantizeTable table;
  return table;
}

}  // namespace warploom
