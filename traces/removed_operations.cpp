// SPDX-License-Identifier: Apache-2.0
// Gaps found one after another, in the order of the rows.
#include "traces/removed_operations.hpp"

#include <algorithm>

namespace warploom {

const RemovedOperations::Gap* RemovedOperations::gap(std::uint32_t op) const {
  if (!has(op)) return nullptr;
  const auto place = gaps_.find(op);
  return place == gaps_.end() ? nullptr : &place->second;
}

std::uint32_t RemovedOperations::kept_before(std::uint32_t op) const {
  const std::uint32_t before = graph_.before[op];
  if (before == nothing || !has(before)) return before;
  const Gap* known = gap(before);
  return known == nullptr ? nothing : known->before;
}

std::span<const RowId> RemovedOperations::inherited(std::uint32_t op) const {
  const std::uint32_t before = graph_.before[op];
  const Gap* known = before == nothing ? nullptr : gap(before);
  return known == nullptr ? std::span<const RowId>() : std::span<const RowId>(known->rows);
}

// Rows of one stream end in their order.
void RemovedOperations::keep_last(std::vector<RowId>& rows, RowId row) const {
  if (row == none) return;
  const auto same = std::find_if(rows.begin(), rows.end(),
                                 [&](RowId known) { return program_.stream[known] == program_.stream[row]; });
  if (same == rows.end()) {
    rows.push_back(row);
  } else {
    *same = std::max(*same, row);
  }
}

}  // namespace warploom
