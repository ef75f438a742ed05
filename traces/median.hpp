// SPDX-License-Identifier: Apache-2.0
// The median of measured times.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "traces/capture.hpp"

namespace warploom {

// The upper of the two in the middle; changes the order of `values`, of which there is at least one.
inline Nanoseconds upper_median(std::vector<Nanoseconds>& values) {
  const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), half, values.end());
  return *half;
}

}  // namespace warploom
