// SPDX-License-Identifier: Apache-2.0
// How many tokens each expert of a device gets.
#pragma once

#include <cstdint>
#include <vector>

namespace warploom {

struct Routing {
  std::int64_t tokens = 0;
  std::int64_t top_k = 1;
  std::int64_t experts = 1;        // of the layer
  std::int64_t local_experts = 1;  // of one device, next to each other
  double exponent = 0;             // of the power law that experts' loads follow; 0: all alike
};

// Of the device with the most tokens; sums over all devices to tokens x top_k. A pure function.
std::vector<std::int64_t> expert_loads(const Routing& routing);

}  // namespace warploom
