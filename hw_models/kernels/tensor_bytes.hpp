// SPDX-License-Identifier: Apache-2.0
// The size of a tensor in memory, and sizes as numbers that models reckon with.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "sim/core/units.hpp"
#include "sim/work/data_type.hpp"

namespace warploom {

inline double as_double(std::int64_t size) { return static_cast<double>(size); }

// Bytes of a tensor of these dimensions; half bytes (FP4) round up. Throws OverflowError when they don't fit.
inline Bytes bytes_of(std::initializer_list<std::int64_t> dimensions, DataType type) {
  Bytes bytes_or_bits(bits(type) % 8 == 0 ? bits(type) / 8 : bits(type));
  for (const std::int64_t dimension : dimensions) bytes_or_bits = bytes_or_bits * dimension;
  return bits(type) % 8 == 0 ? bytes_or_bits : Bytes(bytes_or_bits.count() / 8 + (bytes_or_bits.count() % 8 != 0));
}

}  // namespace warploom
