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

// Moves `items` into the order of `before` and returns where each old place went; nothing where all stayed.
template <class Item, class Before>
std::vector<std::uint32_t> reorder(std::vector<Item>& items, Before before) {
  if (std::is_sorted(items.begin(), items.end(), before)) return {};
  std::vector<std::uint32_t> order(items.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return before(items[a], items[b]); });
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
