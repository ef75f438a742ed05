// SPDX-License-Identifier: Apache-2.0
// Oracles beside real traces (`truth_*.json` under WARPLOOM_DATA), and unions of intervals to compare with them.
#pragma once

#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace warploom::testing {

// The folder of real traces; none where WARPLOOM_DATA is unset.
inline std::optional<std::string> trace_folder() {
  const char* data = std::getenv("WARPLOOM_DATA");
  if (data == nullptr) return std::nullopt;
  const std::string folder = std::string(data) + "/traces/";
  if (!std::filesystem::exists(folder)) return std::nullopt;
  return folder;
}

using Intervals = std::vector<std::pair<std::int64_t, std::int64_t>>;  // [begin, end)

// Disjoint and ascending.
inline Intervals united(Intervals intervals) {
  std::sort(intervals.begin(), intervals.end());
  Intervals result;
  for (const auto& [begin, end] : intervals) {
    if (!result.empty() && begin <= result.back().second) {
      result.back().second = std::max(result.back().second, end);
    } else {
      result.emplace_back(begin, end);
    }
  }
  return result;
}

inline std::int64_t length(const Intervals& intervals) {
  std::int64_t sum = 0;
  for (const auto& [begin, end] : united(intervals)) sum += end - begin;
  return sum;
}

// |a and b| = |a| + |b| - |a or b|.
inline std::int64_t overlap(const Intervals& a, const Intervals& b) {
  Intervals both = a;
  both.insert(both.end(), b.begin(), b.end());
  return length(a) + length(b) - length(both);
}

// Microseconds of an oracle, which has three decimals, as whole nanoseconds.
inline std::int64_t ns(double microseconds) { return std::llround(microseconds * 1000); }

}  // namespace warploom::testing
