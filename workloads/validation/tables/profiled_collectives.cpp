// SPDX-License-Identifier: Apache-2.0
// Collectives under a framework's profiler: medians to 1 us, noisy below 1 MiB.
#include <array>

#include "sim/core/errors.hpp"
#include "workloads/validation/collective_row.hpp"
#include "workloads/validation/tables.hpp"

namespace warploom {

namespace {

class ProfiledCollectivesTable final : public TableKind {
 public:
  std::string_view name() const override { return "profiled_collectives"; }
  std::string_view meaning() const override { return "collectives as a framework's profiler saw them"; }
  std::span<const std::string_view> columns() const override {
    static constexpr std::array<std::string_view, 6> names = {"system",           "collective", "num_workers",
                                                              "devices_per_node", "bytes",      "median_us"};
    return names;
  }
  std::string_view device_column() const override { return "system"; }
  BaselineKind baseline() const override { return BaselineKind::latency_bandwidth; }

  Predicted predict(const CsvRow& csv, ValidationContext& context) const override {
    Predicted result;
    result.measured_us = csv.positive_number("median_us");
    result.min_us = csv.optional_positive_number("min_us");
    result.max_us = csv.optional_positive_number("max_us");
    CollectiveRow row;
    row.machine = csv.text("system");
    row.kind = collective_kind_of(csv.text("collective"));
    const std::int64_t ranks = csv.positive_integer("num_workers");
    row.in_node = csv.positive_integer("devices_per_node");
    if (ranks % row.in_node != 0) throw UserError("nodes with unequal numbers of ranks");
    row.nodes = ranks / row.in_node;
    row.bytes = csv.positive_integer("bytes");
    if (row.nodes > 1) throw UserError("the table does not say what network is between the nodes");
    result.dtype = "fp16";
    result.set = csv.text("system");
    predict_collective(row, context, result);
    return result;
  }
};

}  // namespace

const TableKind& profiled_collectives_table() {
  static const ProfiledCollectivesTable table;
  return table;
}

}  // namespace warploom
