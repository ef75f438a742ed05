// SPDX-License-Identifier: Apache-2.0
// Memory-bound FP32 operators of a framework over B x H values, each launched alone and timed with events.
#include <fmt/format.h>

#include <array>

#include "hw_models/analytic_timer.hpp"
#include "hw_models/kernels/element_wise.hpp"
#include "hw_models/kernels/norm.hpp"
#include "hw_models/kernels/softmax.hpp"
#include "sim/core/config.hpp"
#include "sim/core/errors.hpp"
#include "sim/core/units.hpp"
#include "workloads/device_lookup.hpp"
#include "workloads/validation/kernel_row.hpp"
#include "workloads/validation/tables.hpp"
#include "workloads/validation/validation_context.hpp"

namespace warploom {

namespace {

// What events around one call measure beside the kernel (configs/calibration/event_timing.yaml).
struct EventTiming {
  Time element_wise;
  Time softmax;
  Time layer_norm;
  static auto fields() {
    return field_list(field("element_wise", &EventTiming::element_wise, "of one element-wise call").at_most(1_s),
                      field("softmax", &EventTiming::softmax, "of one softmax").at_most(1_s),
                      field("layer_norm", &EventTiming::layer_norm, "of one layer norm").at_most(1_s));
  }
};

struct Operator {
  Kernel kernel;
  Time around_launch;
};

Operator operator_of(const std::string& operation, const std::string& name, std::int64_t rows, std::int64_t width,
                     const EventTiming& timing) {
  if (operation == "ln") {
    return {norm({.rows = rows, .width = width, .kind = NormKind::layer, .type = DataType::fp32, .framework = true}),
            timing.layer_norm};
  }
  if (operation == "softmax")
    return {softmax({.rows = rows, .width = width, .type = DataType::fp32, .framework = true}), timing.softmax};
  if (operation != "elem") throw UserError("the operator " + operation + " is not modelled");
  // add, div, mul, pow take two tensors; `u` is the same with a number, and the rest take one.
  const bool has_two = name == "add" || name == "div" || name == "mul" || name == "pow";
  return {element_wise(
              {.elements = elements_of(rows, width), .bytes_read = has_two ? 8 : 4, .bytes_written = 4, .flops = 1}),
          timing.element_wise};
}

class MemoryBoundTable final : public TableKind {
 public:
  std::string_view name() const override { return "memory_bound"; }
  std::string_view meaning() const override { return "element-wise, softmax and layer norm over B x H FP32 values"; }
  std::span<const std::string_view> columns() const override {
    static constexpr std::array<std::string_view, 6> names = {"device", "op", "name", "B", "H", "latency_us"};
    return names;
  }
  std::span<const std::string_view> shape_columns() const override {
    static constexpr std::array<std::string_view, 4> names = {"op", "name", "B", "H"};
    return names;
  }

  Predicted predict(const CsvRow& row, ValidationContext& context) const override {
    Predicted result;
    result.measured_us = row.positive_number("latency_us");
    const FoundDevice& device = context.device(row.text("device"));
    const auto& timing = context.memo<EventTiming>(
        "event timing", [&] { return read<EventTiming>(context.config("calibration/event_timing")); });
    const auto [kernel, around_launch] = operator_of(std::string(row.text("op")), std::string(row.text("name")),
                                                     row.positive_integer("B"), row.positive_integer("H"), timing);
    result.device = device.name;
    result.dtype = "fp32";
    result.group = {{"op", std::string(row.text("op"))}};
    result.size_class = result.measured_us < 100 ? "under 100 us" : "100 us and more";
    result.predicted_us = benchmark_us(kernel, device, LaunchMode::stream) + around_launch.microseconds();
    add_features(kernel, result.baseline);
    result.fold_key = fmt::format("{} {}", row.text("name"), row.text("H"));
    return result;
  }
};

}  // namespace

const TableKind& memory_bound_table() {
  static const MemoryBoundTable table;
  return table;
}

}  // namespace warploom
