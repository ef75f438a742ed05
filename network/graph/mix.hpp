// SPDX-License-Identifier: Apache-2.0
// A number's bits, mixed.
#pragma once

#include <cstdint>

#include "sim/core/random.hpp"

namespace warploom {

inline std::uint64_t mix(std::uint64_t x) { return splitmix64(x); }

}  // namespace warploom
