// SPDX-License-Identifier: Apache-2.0
// Collectives as nccl-tests measures them: out of place, one call.
#include <fmt/format.h>

#include <array>

#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"
#include "workloads/validation/collective_row.hpp"
#include "workloads/validation/tables.hpp"

namespace warploom {

namespace {

// "auto", "Ring (NCCL_ALGO=Ring)", "NVLS, 1 process": the first word.
CollectiveChoice choice_of(std::string_view text) {
  const std::string word = to_lower(text.substr(0, text.find_first_of(" ,(")));
  if (word.empty() || word == "auto") return {};
  return {word, ""};
}

class CollectivesTable final : public TableKind {
 public:
  std::string_view name() const override { return "collectives"; }
  std::string_view meaning() const override { return "collective calls: operation, ranks, bytes and their time"; }
  std::span<const std::string_view> columns() const override {
    static constexpr std::array<std::string_view, 8> names = {"device", "nodes", "gpus",  "library",
                                                              "op",     "algo",  "bytes", "time_us"};
    return names;
  }
  BaselineKind baseline() const override { return BaselineKind::latency_bandwidth; }
  std::span<const std::string_view> shape_columns() const override {
    static constexpr std::array<std::string_view, 6> names = {"nodes", "gpus", "op", "algo", "dtype", "bytes"};
    return names;
  }

  Predicted predict(const CsvRow& csv, ValidationContext& context) const override {
    Predicted result;
    result.measured_us = csv.positive_number("time_us");
    CollectiveRow row;
    row.machine = csv.text("device");
    row.fabric = csv.optional_text("fabric").value_or("");
    row.version = library_version(csv.text("library"));
    row.kind = collective_kind_of(csv.text("op"));
    row.choice = choice_of(csv.text("algo"));
    row.is_one_process = csv.text("algo").find("1 process") != std::string_view::npos;
    row.nodes = csv.positive_integer("nodes");
    const std::int64_t gpus = csv.positive_integer("gpus");
    if (gpus < 2) throw UserError("a collective of one rank");
    if (gpus % row.nodes != 0) throw UserError("nodes with unequal numbers of ranks");
    row.in_node = gpus / row.nodes;
    row.bytes = csv.positive_integer("bytes");
    result.dtype = csv.optional_text("dtype").value_or("");
    predict_collective(row, context, result);
    const std::string source(csv.optional_text("source").value_or(""));
    result.set = fmt::format("{}, {}", csv.text("library"), source.substr(0, source.find_first_of(" ,@")));
    return result;
  }
};

}  // namespace

const TableKind& collectives_table() {
  static const CollectivesTable table;
  return table;
}

}  // namespace warploom
