// SPDX-License-Identifier: Apache-2.0
// Checks that every kernel family makes of its sizes.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "sim/core/errors.hpp"
#include "sim/core/units.hpp"
#include "sim/work/kernel.hpp"

namespace warploom {

inline constexpr std::int64_t largest_dimension = std::int64_t{1} << 48;

inline void check_positive(const Kernel& kernel, std::string_view what, std::int64_t size) {
  if (size >= 1 && size <= largest_dimension) return;
  throw UserError(fmt::format("{}: expected `{}` from 1 to 2^48, got {}", kernel.family, what, size));
}

inline void check_not_negative(const Kernel& kernel, std::string_view what, std::int64_t size) {
  if (size >= 0 && size <= largest_dimension) return;
  throw UserError(fmt::format("{}: expected `{}` from 0 to 2^48, got {}", kernel.family, what, size));
}

// Bytes of a tensor of these dimensions; half bytes (FP4) round up. Throws OverflowError when they don't fit.
inline Bytes bytes_of(std::initializer_list<std::int64_t> dimensions, DataType type) {
  Bytes bytes_or_bits(bits(type) % 8 == 0 ? bits(type) / 8 : bits(type));
  for (const std::int64_t dimension : dimensions) bytes_or_bits = bytes_or_bits * dimension;
  return bits(type) % 8 == 0 ? bytes_or_bits : Bytes(bytes_or_bits.count() / 8 + (bytes_or_bits.count() % 8 != 0));
}

}  // namespace warploom
