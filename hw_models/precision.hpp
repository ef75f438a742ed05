// SPDX-License-Identifier: Apache-2.0
// Precisions of served and trained layers, as tables and the command line spell them: which types the operands have
// and how they are scaled.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/work/data_type.hpp"

namespace warploom {

struct Precision {
  std::string_view name;  // `fp8_block`
  DataType activations = DataType::bf16;
  DataType weights = DataType::bf16;
  // Values that share a scale in a row of activations: 0: none are scaled; -1: the whole row or tensor.
  std::int64_t scale_block = 0;
  constexpr bool is_quantised() const { return scale_block != 0; }
  // Products run in the activations' type; weights of fewer bits are widened on the way.
  constexpr DataType products() const { return activations; }
};

inline constexpr Precision precisions[] = {
    {"bf16", DataType::bf16, DataType::bf16, 0},
    {"fp16", DataType::fp16, DataType::fp16, 0},
    {"tf32", DataType::tf32, DataType::tf32, 0},
    {"fp32", DataType::fp32, DataType::fp32, 0},
    {"fp8", DataType::fp8, DataType::fp8, -1},
    {"fp8_block", DataType::fp8, DataType::fp8, 128},
    {"int8", DataType::int8, DataType::int8, -1},
    {"nvfp4", DataType::fp4, DataType::fp4, 16},
    {"mxfp4", DataType::fp4, DataType::fp4, 32},
    {"w4a16_mxfp4", DataType::bf16, DataType::fp4, 0},
    {"int4_wo", DataType::bf16, DataType::fp4, 0},  // INT4 weights: as many bits
    {"w4a8_mxfp4_mxfp8", DataType::fp8, DataType::fp4, 32},
};

constexpr std::optional<Precision> find_precision(std::string_view name) {
  for (const Precision& precision : precisions) {
    if (precision.name == name) return precision;
  }
  return std::nullopt;
}

}  // namespace warploom
