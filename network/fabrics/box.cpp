// SPDX-License-Identifier: Apache-2.0
// Normal form, cutting and writing of rank boxes.
#include "network/fabrics/box.hpp"

#include <algorithm>

#include "sim/core/errors.hpp"

namespace warploom {

std::int64_t Box::size() const {
  std::int64_t product = 1;
  for (const auto& digit : digits()) product *= digit.count;
  return product;
}

Rank Box::at(std::int64_t index) const {
  Rank rank = base;
  for (const auto& digit : digits()) {
    rank += index % digit.count * digit.stride;
    index /= digit.count;
  }
  return rank;
}

Box Box::shifted(std::int64_t by) const {
  Box box = *this;
  box.base += by;
  return box;
}

void Box::push(Stride digit) {
  if (digit.count == 1) return;
  if (count_ > 0) {
    auto& last = digits_[count_ - 1];
    if (last.stride * last.count == digit.stride) {
      last.count *= digit.count;
      return;
    }
  }
  WARPLOOM_CHECK(count_ < max_digits, "a box of more than {} digits", max_digits);
  digits_[count_++] = digit;
}

Box Box::without(std::size_t digit) const {
  Box box(base);
  for (std::size_t i = 0; i < count_; ++i) {
    if (i != digit) box.digits_[box.count_++] = digits_[i];
  }
  return box;
}

std::int64_t Box::count_in(Rank low, Rank high) const {
  std::int64_t sum = 0;
  clip(low, high, [&sum](const Box& box) { sum += box.size(); });
  return sum;
}

namespace {

// Adds to `boxes` the ranks of `digits` (strides ascending) from `base`.
void add_normal(Rank base, std::vector<Stride> digits, std::vector<Box>& boxes) {
  std::int64_t reach = 0;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const bool overlaps = i > 0 && digits[i].stride <= reach;
    if (overlaps) {
      // Write out the shorter of the two that overlap.
      const std::size_t victim = digits[i].count < digits[i - 1].count ? i : i - 1;
      const Stride written = digits[victim];
      digits.erase(digits.begin() + static_cast<std::ptrdiff_t>(victim));
      for (std::int64_t x = 0; x < written.count; ++x) add_normal(base + x * written.stride, digits, boxes);
      return;
    }
    reach += (digits[i].count - 1) * digits[i].stride;
  }
  while (digits.size() > Box::max_digits) {
    const auto shortest = std::ranges::min_element(digits, {}, &Stride::count);
    const Stride written = *shortest;
    digits.erase(shortest);
    for (std::int64_t x = 0; x < written.count; ++x) add_normal(base + x * written.stride, digits, boxes);
    return;
  }
  Box box(base);
  for (const auto& digit : digits) box.push(digit);
  boxes.push_back(box);
}

}  // namespace

std::vector<Box> normal_boxes(Rank base, std::span<const Stride> digits) {
  std::vector<Stride> ordered;
  for (Stride digit : digits) {
    if (digit.count <= 0) return {};
    if (digit.count == 1) continue;
    if (digit.stride < 0) {
      base += (digit.count - 1) * digit.stride;
      digit.stride = -digit.stride;
    }
    ordered.push_back(digit);
  }
  std::ranges::sort(ordered, {}, &Stride::stride);
  // Join what continues, so that the normal form is short.
  std::vector<Stride> joined;
  for (const auto& digit : ordered) {
    if (!joined.empty() && joined.back().stride * joined.back().count == digit.stride) {
      joined.back().count *= digit.count;
    } else {
      joined.push_back(digit);
    }
  }
  std::vector<Box> boxes;
  add_normal(base, std::move(joined), boxes);
  return boxes;
}

void BoxWriter::add(Rank rank) {
  if (run_.count == 0) {
    run_ = {rank, 0, 1};
  } else if (run_.count == 1) {
    run_.stride = rank - run_.start;
    run_.count = 2;
  } else if (rank == run_.start + run_.count * run_.stride) {
    ++run_.count;
  } else {
    close_run();
    run_ = {rank, 0, 1};
  }
}

void BoxWriter::close_run() {
  if (run_.count == 0) return;
  const bool alike = group_count_ > 0 && run_.count == group_run_.count && run_.stride == group_run_.stride;
  if (alike && (group_count_ == 1 || run_.start == group_run_.start + group_count_ * group_stride_)) {
    if (group_count_ == 1) group_stride_ = run_.start - group_run_.start;
    ++group_count_;
  } else {
    close_group();
    group_run_ = run_;
    group_count_ = 1;
  }
  run_.count = 0;
}

void BoxWriter::close_group() {
  if (group_count_ == 0) return;
  Box box(group_run_.start);
  box.push({group_run_.count, group_run_.stride});
  box.push({group_count_, group_stride_});
  boxes_.push_back(box);
  group_count_ = 0;
}

std::vector<Box> BoxWriter::finish() {
  close_run();
  close_group();
  return std::move(boxes_);
}

}  // namespace warploom
