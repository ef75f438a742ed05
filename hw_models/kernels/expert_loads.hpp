// SPDX-License-Identifier: Apache-2.0
// How many tokens each expert of a device gets.
#pragma once

#include <cstdint>
#include <vector>

namespace warploom {

// Who gets the assignments that rounding leaves over; few tokens are nothing else.
enum class Leftovers : std::uint8_t {
  by_turns,    // the devices by turns, there the expert with the least
  one_by_one,  // the experts with the least, one after the other whatever their device: one device gets most of them
};

struct Routing {
  std::int64_t tokens = 0;
  std::int64_t top_k = 1;
  std::int64_t experts = 1;        // of the layer
  std::int64_t local_experts = 1;  // of one device, next to each other
  double exponent = 0;             // of the power law that experts' loads follow; 0: all alike
  std::int64_t groups = 0;         // of experts; a token keeps to half of them (DeepSeek-V3); 0: free
  Leftovers leftovers = Leftovers::by_turns;
};

// Of the device with the most tokens, in several draws of a power law (one where all are alike). A pure function.
std::vector<std::vector<std::int64_t>> expert_loads(const Routing& routing);

}  // namespace warploom
