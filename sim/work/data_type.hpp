// SPDX-License-Identifier: Apache-2.0
// The number formats that operands, results and messages have.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace warploom {

enum class DataType : std::uint8_t { fp32, tf32, bf16, fp16, fp8, int8, fp4, int32 };

inline constexpr std::pair<DataType, std::string_view> data_type_names[] = {
    {DataType::fp32, "fp32"}, {DataType::tf32, "tf32"}, {DataType::bf16, "bf16"}, {DataType::fp16, "fp16"},
    {DataType::fp8, "fp8"},   {DataType::int8, "int8"}, {DataType::fp4, "fp4"},   {DataType::int32, "int32"},
};

// None where no type is called so.
constexpr std::optional<DataType> find_data_type(std::string_view name) {
  for (const auto& [type, text] : data_type_names) {
    if (text == name) return type;
  }
  return std::nullopt;
}

constexpr std::string_view name(DataType type) {
  for (const auto& [value, text] : data_type_names) {
    if (value == type) return text;
  }
  return "?";
}

// Storage bits an element; TF32 is a 32-bit value in memory.
constexpr int bits(DataType type) {
  switch (type) {
    case DataType::fp32:
    case DataType::tf32:
    case DataType::int32:
      return 32;
    case DataType::bf16:
    case DataType::fp16:
      return 16;
    case DataType::fp8:
    case DataType::int8:
      return 8;
    case DataType::fp4:
      return 4;
  }
  return 0;
}

}  // namespace warploom
