// SPDX-License-Identifier: Apache-2.0
// Fused attention as a family: its parameters, its FLOPs and its bytes.
//
// Equations, P pairs of query and key a head that see each other, d elements of a key and v of a value (usually d):
// 2 P (d + v) FLOPs forward and 2 P (3 d + 2 v) backward; forward reads Q, the keys and values in sight, and writes O;
// backward reads Q, dO, K, V and writes dK, dV, beside what goes aside (row sums of O dO and the fp32 gradient of the
// queries). Softmax is not counted, as in the papers. Source: FlashAttention-2 (arXiv:2307.08691).
#include "hw_models/kernels/attention.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "hw_models/kernels.hpp"
#include "hw_models/kernels/attention_cost.hpp"
#include "hw_models/kernels/tensor_bytes.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

std::int64_t value_dim(const AttentionShape& shape) { return shape.value_dim > 0 ? shape.value_dim : shape.head_dim; }

DataType kv_type(const AttentionShape& shape) { return shape.kv_type.value_or(shape.type); }

namespace {

constexpr std::uint32_t causal_flag = 1;
constexpr std::uint32_t backward_flag = 2;
constexpr std::uint32_t serving_flag = 4;
constexpr std::uint32_t warm_flag = 8;
constexpr std::uint32_t values_in_keys_flag = 16;
constexpr std::uint32_t deterministic_flag = 32;

// Pairs of query and key that are computed, a head: query i sees min(window, first + i) keys.
double pairs(const AttentionShape& shape) {
  const double queries = as_double(shape.query_length);
  const double keys = as_double(shape.kv_length);
  const double window = shape.window > 0 ? std::min(as_double(shape.window), keys) : keys;
  if (!shape.causal) return queries * window;
  const double first = keys - queries + 1;
  const double short_rows = std::clamp(window - first, 0.0, queries);  // see less than a window
  return queries * window - short_rows * (window - first) + short_rows * (short_rows - 1) / 2;
}

Bytes queries_in(const AttentionShape& shape, DataType type) {
  return bytes_of({shape.batch, shape.query_heads, shape.query_length, shape.head_dim}, type);
}

Bytes results_in(const AttentionShape& shape, DataType type) {
  return bytes_of({shape.batch, shape.query_heads, shape.query_length, value_dim(shape)}, type);
}

class Attention final : public KernelFamily {
 public:
  std::string_view name() const override { return "attention"; }
  std::string_view meaning() const override { return "fused attention: prefill, decoding, or backward"; }

  std::span<const KernelParameter> parameters() const override {
    static constexpr KernelParameter list[] = {
        {"batch", "sequences", 1},
        {"query_heads", "heads of the queries"},
        {"kv_heads", "heads of keys and values; fewer than query heads: grouped queries"},
        {"query_length", "queries a sequence; 1: decoding"},
        {"kv_length", "keys and values a sequence"},
        {"head_dim", "elements a head", 128},
        {"window", "keys that a query sees at most; 0: all", 0, 0},
        {"value_dim", "elements of a value; 0: as a key", 0, 0},
    };
    return list;
  }
  std::span<const KernelFlag> flags() const override {
    static constexpr KernelFlag list[] = {
        {"causal", causal_flag, "query i sees the keys up to i + kv_length - query_length"},
        {"backward", backward_flag, "the gradient"},
        {"serving", serving_flag, "as a serving engine's operation: planning and the write to the cache included"},
        {"warm", warm_flag, "operands may still be in the L2"},
        {"values_in_keys", values_in_keys_flag, "a value is part of its key and not read again"},
        {"deterministic", deterministic_flag,
         "batch-invariant: the keys are cut into parts of 2,048, whatever the batch is"},
    };
    return list;
  }

  void check_together(const Kernel& kernel) const override {
    const AttentionShape shape = attention_shape(kernel);
    if (shape.query_heads % shape.kv_heads != 0) {
      throw UserError(fmt::format("attention: {} query heads do not divide among {} key and value heads",
                                  shape.query_heads, shape.kv_heads));
    }
    if (shape.deterministic && shape.backward) {
      throw UserError("attention: there is no `deterministic` model of the backward pass",
                      "its order of sums costs time that no model here has; leave one of them out");
    }
    if (shape.causal && shape.query_length > shape.kv_length) {
      throw UserError(fmt::format("attention: causal attention of {} queries to only {} keys", shape.query_length,
                                  shape.kv_length));
    }
  }

  Flops flops(const Kernel& kernel) const override { return attention_flops(attention_shape(kernel)); }
  Bytes bytes(const Kernel& kernel) const override { return attention_traffic(attention_shape(kernel)).all; }

  KernelCost cost(const Kernel& kernel, const DeviceSpec& device) const override {
    const AttentionShape shape = attention_shape(kernel);
    return shape.backward ? attention_backward_cost(shape, device) : attention_forward_cost(shape, device);
  }
};

}  // namespace

Flops attention_flops(const AttentionShape& shape) {
  const double d = as_double(shape.head_dim);
  const double v = as_double(value_dim(shape));
  return Flops(2 * as_double(shape.batch) * as_double(shape.query_heads) * pairs(shape) *
               (shape.backward ? 3 * d + 2 * v : d + v));
}

AttentionTraffic attention_traffic(const AttentionShape& shape) {
  const Bytes q = queries_in(shape, shape.type);
  const Bytes o = results_in(shape, shape.type);
  const std::int64_t in_sight =
      shape.window > 0 ? std::min(shape.kv_length, shape.window + shape.query_length - 1) : shape.kv_length;
  const std::int64_t width = shape.values_in_keys ? shape.head_dim : shape.head_dim + value_dim(shape);
  const Bytes kv = bytes_of({shape.batch, shape.kv_heads, in_sight, width}, kv_type(shape));
  if (!shape.backward) return {q + o + kv, Bytes{0}};
  // Before: O and dO are read and the fp32 dQ is cleared; after: it is read and dQ is written.
  const Bytes aside = o * 2 + q + queries_in(shape, DataType::fp32) * 2;
  return {q + o + kv * 2 + aside, aside};
}

Kernel attention(const AttentionShape& shape) {
  Kernel kernel;
  kernel.family = "attention";
  kernel.size = {shape.batch,     shape.query_heads, shape.kv_heads, shape.query_length,
                 shape.kv_length, shape.head_dim,    shape.window,   shape.value_dim};
  kernel.input = shape.type;
  kernel.weight = kv_type(shape);
  kernel.output = shape.type;
  kernel.flags = (shape.causal ? causal_flag : 0) | (shape.backward ? backward_flag : 0) |
                 (shape.serving ? serving_flag : 0) | (shape.warm ? warm_flag : 0) |
                 (shape.values_in_keys ? values_in_keys_flag : 0) | (shape.deterministic ? deterministic_flag : 0);
  return kernel;
}

AttentionShape attention_shape(const Kernel& kernel) {
  AttentionShape shape;
  shape.batch = kernel.size[0];
  shape.query_heads = kernel.size[1];
  shape.kv_heads = kernel.size[2];
  shape.query_length = kernel.size[3];
  shape.kv_length = kernel.size[4];
  shape.head_dim = kernel.size[5];
  shape.window = kernel.size[6];
  shape.value_dim = kernel.size[7];
  shape.values_in_keys = (kernel.flags & values_in_keys_flag) != 0;
  shape.causal = (kernel.flags & causal_flag) != 0;
  shape.backward = (kernel.flags & backward_flag) != 0;
  shape.serving = (kernel.flags & serving_flag) != 0;
  shape.warm = (kernel.flags & warm_flag) != 0;
  shape.deterministic = (kernel.flags & deterministic_flag) != 0;
  shape.type = kernel.input;
  shape.kv_type = kernel.weight;
  return shape;
}

const KernelFamily& attention_family() {
  static const Attention family;
  return family;
}

}  // namespace warploom
