// SPDX-License-Identifier: Apache-2.0
// All-reduces of serving engines: their own one-shot and two-shot kernels for small calls, NCCL for large ones.
#include <array>

#include "hw_models/analytic_timer.hpp"
#include "hw_models/kernels/element_wise.hpp"
#include "sim/core/errors.hpp"
#include "workloads/device_lookup.hpp"
#include "workloads/validation/collective_row.hpp"
#include "workloads/validation/kernel_row.hpp"
#include "workloads/validation/tables.hpp"
#include "workloads/validation/validation_context.hpp"

namespace warploom {

namespace {

// From here on all engines' times are NCCL's: what is larger than their own buffers they hand on.
constexpr std::int64_t handed_on = std::int64_t{32} << 20;

// Eager calls leave their input as it is: a copy of it is reduced. Graphs have it copied already. Measured, eager less
// graph: 90 us for 128 MiB on H100, 40 on B200, which is twice the bytes at the memory's pace.
double copy_us(const CollectiveRow& row, ValidationContext& context) {
  const Kernel copy = element_wise({.elements = row.bytes / 2, .bytes_read = 2, .bytes_written = 2, .flops = 0});
  return benchmark_us(copy, context.device(row.machine), LaunchMode::graph);
}

class CustomAllReduceTable final : public TableKind {
 public:
  std::string_view name() const override { return "custom_all_reduce"; }
  std::string_view meaning() const override { return "all-reduces of serving engines"; }
  std::span<const std::string_view> columns() const override {
    static constexpr std::array<std::string_view, 6> names = {"system",        "framework", "version",
                                                              "kernel_source", "ngpus",     "bytes"};
    return names;
  }
  std::string_view device_column() const override { return "system"; }
  BaselineKind baseline() const override { return BaselineKind::latency_bandwidth; }

  Predicted predict(const CsvRow& csv, ValidationContext& context) const override {
    Predicted result;
    result.measured_us = csv.positive_number("time_us");
    CollectiveRow row;
    row.machine = csv.text("system");
    row.kind = CollectiveKind::all_reduce;
    row.in_node = csv.positive_integer("ngpus");
    row.bytes = csv.positive_integer("bytes");
    if (row.bytes < handed_on) throw UserError("an engine's own all-reduce kernel, which is not modelled");
    result.dtype = csv.text("dtype");
    result.set = csv.text("framework");
    predict_collective(row, context, result);
    if (csv.text("kernel_source").ends_with("_eager")) result.predicted_us += copy_us(row, context);
    return result;
  }
};

}  // namespace

const TableKind& custom_all_reduce_table() {
  static const CustomAllReduceTable table;
  return table;
}

}  // namespace warploom
