// SPDX-License-Identifier: Apache-2.0
// Sorting items that others refer to by their places.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "traces/capture.hpp"

namespace warploom {

// The places 0 to `count` - 1 in the order of `before`, equal ones as they stand. Lists of sorted runs (threads,
// streams) are merged run by run.
template <class Before>
std::vector<std::uint32_t> sorted_places(std::size_t count, Before before) {
  constexpr std::size_t most_runs = 64;
  std::vector<std::uint32_t> places(count);
  std::iota(places.begin(), places.end(), 0U);
  std::vector<std::ptrdiff_t> bounds = {0};
  for (std::uint32_t i = 1; i < count && bounds.size() <= most_runs; ++i) {
    if (before(i, i - 1)) bounds.push_back(i);
  }
  if (bounds.size() > most_runs) {
    std::stable_sort(places.begin(), places.end(), before);
    return places;
  }
  bounds.push_back(static_cast<std::ptrdiff_t>(count));
  while (bounds.size() > 2) {
    std::vector<std::ptrdiff_t> merged = {0};
    for (std::size_t i = 0; i + 1 < bounds.size(); i += 2) {
      const std::ptrdiff_t end = i + 2 < bounds.size() ? bounds[i + 2] : bounds[i + 1];
      std::inplace_merge(places.begin() + bounds[i], places.begin() + bounds[i + 1], places.begin() + end, before);
      merged.push_back(end);
    }
    bounds = std::move(merged);
  }
  return places;
}

// Moves `items` into the order of `before` and returns where each old place went; nothing where all stayed.
template <class Item, class Before>
std::vector<std::uint32_t> reorder(std::vector<Item>& items, Before before) {
  if (std::is_sorted(items.begin(), items.end(), before)) return {};
  const auto order =
      sorted_places(items.size(), [&](std::uint32_t a, std::uint32_t b) { return before(items[a], items[b]); });
  std::vector<std::uint32_t> new_place(items.size());
  std::vector<Item> sorted;
  sorted.reserve(items.size());
  for (std::uint32_t place = 0; place < order.size(); ++place) {
    new_place[order[place]] = place;
    sorted.push_back(std::move(items[order[place]]));
  }
  items = std::move(sorted);
  return new_place;
}

inline void follow(std::uint32_t& reference, std::span<const std::uint32_t> new_place) {
  if (reference != nothing && !new_place.empty()) reference = new_place[reference];
}

}  // namespace warploom
