// SPDX-License-Identifier: Apache-2.0
// Conversion of `elements` numbers from one data type to another.
#pragma once

#include <cstdint>

#include "sim/work/kernel.hpp"

namespace warploom {

class KernelFamily;

struct CastShape {
  std::int64_t elements = 0;
  DataType from = DataType::fp32;
  DataType to = DataType::bf16;
};

Kernel cast(const CastShape& shape);
CastShape cast_shape(const Kernel& kernel);
const KernelFamily& cast_family();

}  // namespace warploom
