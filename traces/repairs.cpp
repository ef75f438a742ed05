// SPDX-License-Identifier: Apache-2.0
// Counting by name, and the error of strict reading.
#include "traces/repairs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/errors.hpp"

namespace warploom {

void Repairs::note(std::string_view name, std::string_view text, std::string_view where, std::int64_t moved_ns,
                   std::int64_t count) {
  if (count == 0) return;
  if (strict_) {
    throw UserError(fmt::format("{}: {}: {} (`{}`)", file_, where, text, name),
                    "without `--strict` it is mended, counted and reported");
  }
  auto place =
      std::find_if(repairs_.begin(), repairs_.end(), [&](const Repair& repair) { return repair.name == name; });
  if (place == repairs_.end()) {
    repairs_.push_back({std::string(name), std::string(text), 0, 0, std::string(where)});
    place = std::prev(repairs_.end());
  }
  place->count += count;
  place->largest = std::max(place->largest, moved_ns);
}

void Repairs::add(const Repairs& others) {
  for (const auto& repair : others.repairs_) {
    note(repair.name, repair.text, repair.first, repair.largest, repair.count);
  }
}

std::int64_t Repairs::count(std::string_view name) const {
  const auto place =
      std::find_if(repairs_.begin(), repairs_.end(), [&](const Repair& repair) { return repair.name == name; });
  return place == repairs_.end() ? 0 : place->count;
}

}  // namespace warploom
