// SPDX-License-Identifier: Apache-2.0
// Boxes of ranks in normal form: digits nested, strides positive and ascending, so that cutting and counting are
// arithmetic.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/work/group.hpp"

namespace warploom {

// Ranks base + sum x_i * stride_i. Every stride exceeds what the digits before it reach together, so that the ranks
// ascend with the digits read as a number.
class Box {
 public:
  static constexpr std::size_t max_digits = 6;

  Box() = default;
  explicit Box(Rank single) : base(single) {}

  Rank base = 0;

  std::span<const Stride> digits() const { return {digits_.data(), count_}; }
  std::int64_t size() const;
  std::int64_t extent() const { return extent(count_); }  // last rank - base
  Rank at(std::int64_t index) const;                      // ascending
  Box shifted(std::int64_t by) const;
  // Adds a digit above all others; joins it with the last where that makes one progression.
  void push(Stride digit);
  // The same ranks with one digit less: those where the digit is 0.
  Box without(std::size_t digit) const;

  // Calls `take` for boxes that together are the ranks in [low, high).
  template <class Take>
  void clip(Rank low, Rank high, Take&& take) const {
    if (low <= base && base + extent() < high) {
      take(*this);
      return;
    }
    clip_digits(count_, base, low, high, take);
  }
  std::int64_t count_in(Rank low, Rank high) const;

  friend bool operator==(const Box& a, const Box& b) {
    return a.base == b.base && std::ranges::equal(a.digits(), b.digits());
  }

 private:
  std::int64_t extent(std::size_t digits) const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < digits; ++i) sum += (digits_[i].count - 1) * digits_[i].stride;
    return sum;
  }
  // The box of the lowest `digits` digits at `at`.
  Box lower(std::size_t digits, Rank at) const {
    Box box;
    box.base = at;
    box.count_ = digits;
    for (std::size_t i = 0; i < digits; ++i) box.digits_[i] = digits_[i];
    return box;
  }
  template <class Take>
  void clip_digits(std::size_t digits, Rank at, Rank low, Rank high, Take& take) const;

  std::array<Stride, max_digits> digits_{};
  std::size_t count_ = 0;
};

template <class Take>
void Box::clip_digits(std::size_t digits, Rank at, Rank low, Rank high, Take& take) const {
  const std::int64_t reach = extent(digits);
  if (at + reach < low || at >= high) return;
  if (low <= at && at + reach < high) {
    take(lower(digits, at));
    return;
  }
  // Values of the top digit whose ranks lie inside as a whole make one box; the two at the edges are cut further.
  const Stride top = digits_[digits - 1];
  const std::int64_t inner = extent(digits - 1);
  const auto ceil_div = [](std::int64_t a, std::int64_t b) { return a <= 0 ? 0 : (a + b - 1) / b; };
  const std::int64_t first_whole = std::min(ceil_div(low - at, top.stride), top.count);
  const std::int64_t room = high - 1 - inner - at;
  const std::int64_t end_whole = room < 0 ? 0 : std::min(room / top.stride + 1, top.count);
  const std::int64_t first_touched = std::min(ceil_div(low - at - inner, top.stride), top.count);
  const std::int64_t end_touched = high <= at ? 0 : std::min((high - 1 - at) / top.stride + 1, top.count);
  const std::int64_t before = std::min(first_whole, end_touched);
  for (std::int64_t x = first_touched; x < before; ++x) {
    clip_digits(digits - 1, at + x * top.stride, low, high, take);
  }
  if (end_whole > first_whole) {
    Box box = lower(digits - 1, at + first_whole * top.stride);
    box.push({end_whole - first_whole, top.stride});
    take(box);
  }
  for (std::int64_t x = std::max({end_whole, first_whole, first_touched}); x < end_touched; ++x) {
    clip_digits(digits - 1, at + x * top.stride, low, high, take);
  }
}

// Any box of ranks as boxes in normal form: digits that overlap are written out.
std::vector<Box> normal_boxes(Rank base, std::span<const Stride> digits);

// Writes ascending ranks down as few boxes: runs of equal steps, and equal runs at equal distances.
class BoxWriter {
 public:
  void add(Rank rank);
  std::vector<Box> finish();

 private:
  struct Run {
    Rank start = 0;
    std::int64_t stride = 0;
    std::int64_t count = 0;
  };
  void close_run();
  void close_group();

  Run run_;
  Run group_run_;  // the run that the group repeats
  std::int64_t group_stride_ = 0;
  std::int64_t group_count_ = 0;
  std::vector<Box> boxes_;
};

}  // namespace warploom
