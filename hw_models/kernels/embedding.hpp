// SPDX-License-Identifier: Apache-2.0
// Embedding look-up of `tokens` rows in a table of `vocabulary` rows; backward adds the gradients of the tokens into
// the table's.
#pragma once

#include <cstdint>

#include "sim/work/kernel.hpp"

namespace warploom {

class KernelFamily;

struct EmbeddingShape {
  std::int64_t tokens = 0;
  std::int64_t vocabulary = 0;  // rows on this device
  std::int64_t width = 0;
  bool backward = false;
  DataType type = DataType::bf16;      // of table and output (backward: of the tokens' gradient)
  DataType gradient = DataType::fp32;  // backward: of the table's gradient
};

Kernel embedding(const EmbeddingShape& shape);
EmbeddingShape embedding_shape(const Kernel& kernel);
const KernelFamily& embedding_family();

}  // namespace warploom
