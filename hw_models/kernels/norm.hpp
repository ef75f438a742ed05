// SPDX-License-Identifier: Apache-2.0
// RMS and layer normalisation over the last dimension of [rows, width].
#pragma once

#include <cstdint>

#include "sim/work/kernel.hpp"

namespace warploom {

class KernelFamily;

enum class NormKind : std::uint8_t { rms, layer };

struct NormShape {
  std::int64_t rows = 0;
  std::int64_t width = 0;
  NormKind kind = NormKind::rms;
  bool backward = false;
  DataType type = DataType::bf16;
  bool framework =
      false;  // layer norm, forward: PyTorch's own kernel, not a fused one of a serving or training library
};

Kernel norm(const NormShape& shape);
NormShape norm_shape(const Kernel& kernel);
const KernelFamily& norm_family();

}  // namespace warploom
