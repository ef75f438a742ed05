// SPDX-License-Identifier: Apache-2.0
// Lists of indices by a key, one after another in one array (CSR): who depends on whom, what runs where.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sim/core/errors.hpp"

namespace warploom {

class IndexLists {
 public:
  // visit(emit) calls emit(key, index) for every pair, twice over and both times in the same order, which is the order
  // within a list; keys are below `keys`. At most 2^32 - 1 pairs, else InternalError.
  template <class Visit>
  IndexLists(std::size_t keys, Visit visit) : begin_(keys + 2, 0) {
    std::size_t pairs = 0;
    visit([&](std::size_t key, std::uint32_t) {
      ++begin_[key + 2];
      ++pairs;
    });
    WARPLOOM_CHECK(pairs < std::numeric_limits<std::uint32_t>::max(), "{} pairs in a table of lists", pairs);
    for (std::size_t i = 2; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
    indices_.resize(pairs);
    // Until it is filled, the begin of a list stands one place further on: there it grows to the list's end.
    visit([&](std::size_t key, std::uint32_t index) { indices_[begin_[key + 1]++] = index; });
  }

  std::size_t size() const { return begin_.size() - 2; }
  std::span<const std::uint32_t> operator[](std::size_t key) const {
    return std::span(indices_).subspan(begin_[key], begin_[key + 1] - begin_[key]);
  }
  // For sorting within a list.
  std::span<std::uint32_t> operator[](std::size_t key) {
    return std::span(indices_).subspan(begin_[key], begin_[key + 1] - begin_[key]);
  }

 private:
  std::vector<std::uint32_t> begin_;
  std::vector<std::uint32_t> indices_;
};

}  // namespace warploom
