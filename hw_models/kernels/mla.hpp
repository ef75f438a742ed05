// SPDX-License-Identifier: Apache-2.0
// Multi-head latent attention (DeepSeek-V2, arXiv:2405.04434): keys and values of all heads are one latent vector a
// token, of which each head's are projections.
#pragma once

#include <cstdint>
#include <optional>

#include "hw_models/kernels/attention.hpp"
#include "sim/work/kernel.hpp"

namespace warploom {

class KernelFamily;

struct MlaShape {
  std::int64_t batch = 1;
  std::int64_t heads = 0;
  std::int64_t query_length = 0;
  std::int64_t kv_length = 0;
  std::int64_t latent = 512;  // elements that keys and values are projected from
  std::int64_t rope = 64;     // of a key, rotated and shared by the heads
  std::int64_t nope = 128;    // of a head's key, from the latent
  std::int64_t value = 128;   // of a head's value, from the latent
  bool serving = false;       // as a serving engine's operation: writes to the cache
  bool warm = false;          // operands may still be in the L2 (a benchmark that repeats one operation)
  bool projections = false;   // the products to and from the latent space, too
  DataType type = DataType::bf16;
  std::optional<DataType> kv_type{};  // of the cache; none: as `type`
};

Kernel mla(const MlaShape& shape);
MlaShape mla_shape(const Kernel& kernel);

// Queries work on the latent itself where the cache holds more than they bring: engines send decoding there, which is
// one query a sequence, or a speculative draft of a few. (By FLOPs alone it would pay up to 170 queries.)
bool is_absorbed(const MlaShape& shape);

// Its attention: over the latent, or over keys and values made of it.
AttentionShape mla_core(const MlaShape& shape);

const KernelFamily& mla_family();

}  // namespace warploom
