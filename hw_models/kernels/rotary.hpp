// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding, applied to queries and keys; backward is the rotation by the negative angle.
#pragma once

#include <cstdint>

#include "sim/work/kernel.hpp"

namespace warploom {

class KernelFamily;

struct RotaryShape {
  std::int64_t tokens = 0;
  std::int64_t heads = 0;  // query heads + key heads
  std::int64_t head_dim = 128;
  DataType type = DataType::bf16;
};

Kernel rotary(const RotaryShape& shape);
RotaryShape rotary_shape(const Kernel& kernel);
const KernelFamily& rotary_family();

}  // namespace warploom
