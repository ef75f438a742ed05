// SPDX-License-Identifier: Apache-2.0
// From the ids of a file (correlations, nodes) to places: by place where the ids lie densely, else by halving.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "traces/capture.hpp"

namespace warploom {

class KeyIndex {
 public:
  KeyIndex() = default;
  // visit(emit) calls emit(key, place) for every pair, the same pairs every time; the first of equal keys counts.
  template <class Visit>
  explicit KeyIndex(Visit visit) {
    std::uint64_t low = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t high = 0;
    std::size_t count = 0;
    visit([&](std::uint64_t key, std::uint32_t) {
      low = std::min(low, key);
      high = std::max(high, key);
      ++count;
    });
    if (count == 0) return;
    if (high - low < 4 * count + 1024) {
      first_ = low;
      dense_.assign(high - low + 1, nothing);
      visit([&](std::uint64_t key, std::uint32_t place) {
        if (dense_[key - low] == nothing) dense_[key - low] = place;
      });
      return;
    }
    sorted_.reserve(count);
    visit([&](std::uint64_t key, std::uint32_t place) { sorted_.emplace_back(key, place); });
    const auto smaller = [](const auto& a, const auto& b) { return a.first < b.first; };
    if (!std::is_sorted(sorted_.begin(), sorted_.end(), smaller)) {
      std::stable_sort(sorted_.begin(), sorted_.end(), smaller);
    }
  }

  // `nothing` where no such key is.
  std::uint32_t find(std::uint64_t key) const {
    if (!dense_.empty()) return key < first_ || key - first_ >= dense_.size() ? nothing : dense_[key - first_];
    const auto place =
        std::partition_point(sorted_.begin(), sorted_.end(), [key](const auto& item) { return item.first < key; });
    return place != sorted_.end() && place->first == key ? place->second : nothing;
  }

 private:
  std::uint64_t first_ = 0;
  std::vector<std::uint32_t> dense_;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> sorted_;
};

}  // namespace warploom
