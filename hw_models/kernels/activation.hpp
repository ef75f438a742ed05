// SPDX-License-Identifier: Apache-2.0
// The non-linearity of an MLP: SwiGLU (silu(x) * gate, two inputs for one output) or GELU, with a bias before or not.
#pragma once

#include <cstdint>

#include "sim/work/kernel.hpp"

namespace warploom {

class KernelFamily;

enum class ActivationKind : std::uint8_t { swiglu, gelu };

struct ActivationShape {
  std::int64_t rows = 0;
  std::int64_t width = 0;  // of the output; SwiGLU's input is twice as wide
  ActivationKind kind = ActivationKind::swiglu;
  bool backward = false;
  DataType type = DataType::bf16;
  bool bias = false;  // adds a bias first (bias-GELU); backward also sums the bias's gradient
};

Kernel activation(const ActivationShape& shape);
ActivationShape activation_shape(const Kernel& kernel);
const KernelFamily& activation_family();

}  // namespace warploom
