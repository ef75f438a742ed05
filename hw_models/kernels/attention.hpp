// SPDX-License-Identifier: Apache-2.0
// Fused attention: softmax(Q K^T) V without the score matrix in memory; forward (training, prefill, decoding) or
// backward.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/work/kernel.hpp"

namespace warploom {

class KernelFamily;

struct AttentionShape {
  std::int64_t batch = 1;
  std::int64_t query_heads = 0;
  std::int64_t kv_heads = 0;  // fewer than query_heads: grouped queries
  std::int64_t query_length = 0;
  std::int64_t kv_length = 0;
  std::int64_t head_dim = 128;
  std::int64_t value_dim = 0;  // elements of a value; 0: as a key
  std::int64_t window = 0;     // keys that a query sees at most; 0: all
  bool causal = true;          // query i sees the keys up to i + kv_length - query_length
  bool backward = false;
  bool values_in_keys = false;  // a value is part of its key and not read again (latent attention)
  bool serving = false;  // as a serving engine's operation: plans the batch and writes new keys and values to the cache
  bool warm = false;     // operands may still be in the L2 (a benchmark that repeats one operation)
  bool deterministic = false;  // batch-invariant: keys are cut into parts of one length, not into so many parts
  DataType type = DataType::bf16;
  std::optional<DataType> kv_type{};  // of keys and values in memory; none: as `type`
};

Kernel attention(const AttentionShape& shape);
AttentionShape attention_shape(const Kernel& kernel);
const KernelFamily& attention_family();

}  // namespace warploom
