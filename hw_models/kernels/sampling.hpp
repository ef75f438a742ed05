// SPDX-License-Identifier: Apache-2.0
// The next token of each sequence, drawn from its logits.
#pragma once

#include <cstdint>

#include "sim/work/kernel.hpp"

namespace warploom {

class KernelFamily;

struct SamplingShape {
  std::int64_t rows = 0;        // sequences that need a token
  std::int64_t vocabulary = 0;  // logits of each
  std::int64_t rounds = 2;      // draws until one lies within top-k and top-p
  bool greedy = false;          // the largest logit, nothing drawn
  bool top_k = false;
  bool top_p = false;
  bool sorted = false;  // top-k and top-p by sorting the logits, with operators of a framework
  DataType type = DataType::fp32;
};

Kernel sampling(const SamplingShape& shape);
const KernelFamily& sampling_family();

}  // namespace warploom
