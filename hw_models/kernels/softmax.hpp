// SPDX-License-Identifier: Apache-2.0
// Scale, mask and softmax over the rows of matrices, as a kernel of its own (attention that writes its scores).
#pragma once

#include <cstdint>

#include "sim/work/kernel.hpp"

namespace warploom {

class KernelFamily;

struct SoftmaxShape {
  std::int64_t matrices = 1;  // sequences x heads
  std::int64_t rows = 0;      // of one matrix: queries
  std::int64_t width = 0;     // keys
  bool causal = false;        // row i sees the columns up to i + width - rows; the others become zero
  bool backward = false;
  DataType type = DataType::bf16;
  bool framework = false;  // forward, all keys: PyTorch's own kernel, not a fused one of a training library
};

Kernel softmax(const SoftmaxShape& shape);
SoftmaxShape softmax_shape(const Kernel& kernel);
const KernelFamily& softmax_family();

}  // namespace warploom
