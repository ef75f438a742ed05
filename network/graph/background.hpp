// SPDX-License-Identifier: Apache-2.0
// The share of a link's rate that others take.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace warploom {

// Of a link, the way on which they take more. `background`: by edge, as Topology::background(); empty: nothing.
inline double taken_of(const std::vector<double>& background, std::size_t link) {
  return background.empty() ? 0 : std::max(background[2 * link], background[2 * link + 1]);
}

}  // namespace warploom
