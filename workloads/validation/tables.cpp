// SPDX-License-Identifier: Apache-2.0
// The list of table kinds, and which of them a table is.
#include "workloads/validation/tables.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"

namespace warploom {

std::span<const TableKind* const> table_kinds() {
  static const TableKind* const kinds[] = {
      &gemm_table(),
      &gemm_quantized_table(),
      &gemm_fp32_table(),
      &quantize_table(),
      &llm_layer_ops_table(),
      &attention_table(),
      &mla_table(),
      &moe_table(),
      &memory_bound_table(),
      &training_table(),
      &pipeline_bubbles_table(),
      &collectives_table(),
      &profiled_collectives_table(),
      &custom_all_reduce_table(),
      &moe_low_latency_table(),
      &moe_normal_table(),
      &moe_libraries_table(),
      &replay_table(),
  };
  return kinds;
}

namespace {

std::size_t missing_columns(const TableKind& kind, const CsvReader& table) {
  return static_cast<std::size_t>(std::count_if(kind.columns().begin(), kind.columns().end(),
                                                [&](std::string_view column) { return !table.has(column); }));
}

}  // namespace

const TableKind& table_kind_of(const CsvReader& table) {
  const TableKind* best = nullptr;
  std::size_t missing = 0;
  for (const TableKind* kind : table_kinds()) {
    const std::size_t lacks = missing_columns(*kind, table);
    const bool is_better =
        best == nullptr || lacks < missing || (lacks == missing && kind->columns().size() > best->columns().size());
    if (is_better) {
      best = kind;
      missing = lacks;
    }
  }
  if (missing == 0) return *best;
  // Nothing near: say what there is rather than ask for the columns of one kind.
  if (2 * missing > best->columns().size()) {
    std::vector<std::string> kinds;
    for (const TableKind* kind : table_kinds()) {
      std::vector<std::string> columns(kind->columns().begin(), kind->columns().end());
      kinds.push_back(fmt::format("\n    {:<24} {}", kind->name(), join(columns)));
    }
    throw UserError(Origin(table.file(), 1, 0), "these columns are of no kind of table that can be predicted",
                    "a table is known by its columns:" + join(kinds, ""));
  }
  try {
    table.require(best->columns());
  } catch (const UserError& error) {
    throw UserError(error.origin(), fmt::format("{}: a table of {} needs it", error.message(), best->name()),
                    error.hint());
  }
  return *best;
}

void require_plausible(double measured_us) {
  if (measured_us < 1e-4 || measured_us > 2.6e12) throw UserError("expected a time between 0.1 ns and a month");
}

}  // namespace warploom
