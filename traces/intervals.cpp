// SPDX-License-Identifier: Apache-2.0
// Sets of intervals by sorting and one sweep.
#include "traces/intervals.hpp"

#include <algorithm>
#include <utility>

namespace warploom {

IntervalSet::IntervalSet(std::vector<Interval> intervals) {
  const auto earlier = [](const Interval& a, const Interval& b) { return a.begin < b.begin; };
  if (!std::is_sorted(intervals.begin(), intervals.end(), earlier)) {
    std::sort(intervals.begin(), intervals.end(), earlier);
  }
  // In place: parts are at most as many.
  std::size_t parts = 0;
  for (const Interval interval : intervals) {
    if (interval.end <= interval.begin) continue;
    if (parts > 0 && interval.begin <= intervals[parts - 1].end) {
      intervals[parts - 1].end = std::max(intervals[parts - 1].end, interval.end);
    } else {
      intervals[parts++] = interval;
    }
  }
  intervals.resize(parts);
  parts_ = std::move(intervals);
}

Nanoseconds IntervalSet::length() const {
  Nanoseconds sum = 0;
  for (const auto& part : parts_) sum += part.length();
  return sum;
}

IntervalSet IntervalSet::clipped(Interval window) const {
  IntervalSet inside;
  const auto first = std::partition_point(parts_.begin(), parts_.end(),
                                          [&](const Interval& part) { return part.end <= window.begin; });
  for (auto part = first; part != parts_.end() && part->begin < window.end; ++part) {
    inside.parts_.push_back({std::max(part->begin, window.begin), std::min(part->end, window.end)});
  }
  return inside;
}

IntervalSet unite(const IntervalSet& a, const IntervalSet& b) {
  std::vector<Interval> all = a.parts_;
  all.insert(all.end(), b.parts_.begin(), b.parts_.end());
  return IntervalSet(std::move(all));
}

Nanoseconds common(const IntervalSet& a, const IntervalSet& b) {
  Nanoseconds sum = 0;
  auto left = a.parts_.begin();
  auto right = b.parts_.begin();
  while (left != a.parts_.end() && right != b.parts_.end()) {
    sum += std::max<Nanoseconds>(0, std::min(left->end, right->end) - std::max(left->begin, right->begin));
    if (left->end < right->end) {
      ++left;
    } else {
      ++right;
    }
  }
  return sum;
}

}  // namespace warploom
