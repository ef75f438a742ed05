// SPDX-License-Identifier: Apache-2.0
// "What if this were free": a device with resources that never hold anything up, everything else as it is.
//
// A pure change of the numbers: a free resource has a million times its rate and no latency. What a kernel library
// would then choose is left as it is, and so is energy: at the power limit the clock still follows from what is
// computed, unless `power` is free, too.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hw_models/device.hpp"

namespace warploom {

enum class Ideal : std::uint8_t {
  launch,   // gaps between kernels, and a block's start
  l2,       // its bandwidth and latency, and the port of each SM to it
  hbm,      // device memory
  network,  // links between devices: nothing of a device
  tensor,   // Tensor Cores
  sfu,      // special functions
  shared,   // shared memory
  power,    // the power limit
};

template <>
struct EnumNames<Ideal> {
  static constexpr std::pair<Ideal, std::string_view> values[] = {
      {Ideal::launch, "launch"}, {Ideal::l2, "l2"},   {Ideal::hbm, "hbm"},       {Ideal::network, "network"},
      {Ideal::tensor, "tensor"}, {Ideal::sfu, "sfu"}, {Ideal::shared, "shared"}, {Ideal::power, "power"}};
};

// Of a rate.
inline constexpr double free_factor = 1e6;

// `launch,l2`. Throws UserError that lists what there is; an empty text is a mistake, too.
std::vector<Ideal> parse_ideals(std::string_view text);
// "launch and l2".
std::string in_words(const std::vector<Ideal>& ideals);
inline bool has(const std::vector<Ideal>& ideals, Ideal one) {
  for (const Ideal ideal : ideals) {
    if (ideal == one) return true;
  }
  return false;
}

DeviceSpec with_free(DeviceSpec device, const std::vector<Ideal>& ideals);

}  // namespace warploom
