// SPDX-License-Identifier: Apache-2.0
// What must hold within a row of a selection table.
#include "hw_models/gemm_selection.hpp"

#include <fmt/format.h>

namespace warploom {

void SizeRange::check(const SizeRange& range, const ConfigValue& at, Diagnostics& diagnostics) {
  if (range.from <= range.to) return;
  diagnostics.error(at.origin(), at.path(), fmt::format("nothing lies from {} to {}", range.from, range.to),
                    "`from` is the smaller one; both ends belong to it");
}

void GemmSelection::check(const GemmSelection& row, const ConfigValue& at, Diagnostics& diagnostics) {
  const auto report = [&](std::string_view key, const std::string& message, const std::string& hint) {
    const auto value = at.find(key);
    diagnostics.error(value ? value->origin() : at.origin(), at.path_of(key), message, hint);
  };
  if (row.stream_k && row.split_k > 1) {
    report("split_k", fmt::format("expected 1 beside `stream_k`, got {}", row.split_k),
           "both cut k; leave one of them out");
  }
  if (row.stages == 1) {
    report("stages", "expected 0 or at least 2, got 1", "one stage is filled while another is read");
  }
}

}  // namespace warploom
