// SPDX-License-Identifier: Apache-2.0
// Cross entropy over logits [tokens, vocabulary shard] in the three kernels that vocabulary parallelism needs.
#pragma once

#include <cstdint>

#include "sim/work/kernel.hpp"

namespace warploom {

class KernelFamily;

enum class CrossEntropyPart : std::uint8_t {
  maximum,   // local maximum of each row (then an all-reduce of `tokens` values)
  sum,       // local sum of exp(x - max), the target's logit, and the loss (all-reduces of `tokens` values around it)
  backward,  // softmax - one_hot, over the logits' place or beside it
};

struct CrossEntropyShape {
  std::int64_t tokens = 0;
  std::int64_t vocabulary = 0;  // columns on this device
  CrossEntropyPart part = CrossEntropyPart::maximum;
  DataType type = DataType::bf16;  // of the logits
};

Kernel cross_entropy(const CrossEntropyShape& shape);
CrossEntropyShape cross_entropy_shape(const Kernel& kernel);
const KernelFamily& cross_entropy_family();

}  // namespace warploom
