// SPDX-License-Identifier: Apache-2.0
// Dropout with a mask in memory, alone (attention probabilities) or fused with a bias and a residual addition.
#pragma once

#include <cstdint>

#include "sim/work/kernel.hpp"

namespace warploom {

class KernelFamily;

struct DropoutShape {
  std::int64_t elements = 0;
  bool adds = false;  // y = residual + dropout(x)
  bool bias = false;  // x + bias is dropped; backward also sums the bias's gradient
  bool backward = false;
  DataType type = DataType::bf16;
};

Kernel dropout(const DropoutShape& shape);
DropoutShape dropout_shape(const Kernel& kernel);
const KernelFamily& dropout_family();

}  // namespace warploom
