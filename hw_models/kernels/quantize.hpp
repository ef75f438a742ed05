// SPDX-License-Identifier: Apache-2.0
// Quantisation of activations: rows x width values into a narrower type, with the scales that the product needs.
#pragma once

#include <cstdint>

#include "sim/work/kernel.hpp"

namespace warploom {

class KernelFamily;

enum class QuantizePart : std::uint8_t {
  scale,  // only the search for the largest value of a tensor
  cast,   // only the division by a known scale
  both,   // one kernel that finds the scale of its row or block and divides
};

struct QuantizeShape {
  std::int64_t rows = 0;
  std::int64_t width = 0;
  std::int64_t block = 0;  // values that share a scale; 0: a row, or the tensor
  DataType from = DataType::bf16;
  DataType to = DataType::fp8;
  QuantizePart part = QuantizePart::both;
  bool is_warm = false;       // the same tensor again and again: what fits the L2 is still there
  bool after_search = false;  // cast: right behind the search, which left in the L2 what fits
};

Kernel quantize(const QuantizeShape& shape);
QuantizeShape quantize_shape(const Kernel& kernel);
const KernelFamily& quantize_family();

}  // namespace warploom
