// SPDX-License-Identifier: Apache-2.0
// Fused attention (FlashAttention): softmax(Q K^T) V without the score matrix in memory, forward or backward.
#pragma once

#include <cstdint>

#include "sim/work/kernel.hpp"

namespace warploom {

class KernelFamily;

struct FlashAttentionShape {
  std::int64_t batch = 1;
  std::int64_t query_heads = 0;
  std::int64_t kv_heads = 0;  // fewer than query_heads: grouped queries
  std::int64_t query_length = 0;
  std::int64_t kv_length = 0;
  std::int64_t head_dim = 128;
  bool causal = true;  // query i sees the keys up to i + kv_length - query_length
  bool backward = false;
  DataType type = DataType::bf16;
};

Kernel flash_attention(const FlashAttentionShape& shape);
const KernelFamily& flash_attention_family();

}  // namespace warploom
