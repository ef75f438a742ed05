// SPDX-License-Identifier: Apache-2.0
// Sets of half-open intervals of time: their union, and how much two sets have in common.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "traces/capture.hpp"

namespace warploom {

struct Interval {
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
  Nanoseconds length() const { return end - begin; }
  friend bool operator==(const Interval&, const Interval&) = default;
};

// `span` grows so that it holds `one`, too; none: it is `one`.
inline void widen(std::optional<Interval>& span, Interval one) {
  span = span ? Interval{std::min(span->begin, one.begin), std::max(span->end, one.end)} : one;
}

// Disjoint and in order; empty ones vanish.
class IntervalSet {
 public:
  IntervalSet() = default;
  // In any order; may overlap.
  explicit IntervalSet(std::vector<Interval> intervals);

  const std::vector<Interval>& parts() const { return parts_; }
  Nanoseconds length() const;
  IntervalSet clipped(Interval window) const;

  friend IntervalSet unite(const IntervalSet& a, const IntervalSet& b);
  // Length of the intersection.
  friend Nanoseconds common(const IntervalSet& a, const IntervalSet& b);

 private:
  std::vector<Interval> parts_;
};

}  // namespace warploom
