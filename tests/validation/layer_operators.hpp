// SPDX-License-Identifier: Apache-2.0
// Rows of llm_layer_ops.csv as kernels: the operators of dense layers that are bound by memory.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "hw_models/kernels/activation.hpp"
#include "hw_models/kernels/element_wise.hpp"
#include "hw_models/kernels/embedding.hpp"
#include "hw_models/kernels/norm.hpp"
#include "hw_models/kernels/rotary.hpp"
#include "sim/core/csv.hpp"

namespace warploom::validation {

struct LayerOperator {
  std::string name;
  Kernel kernel;
};

// None for linear layers, and for tensors so small that they live in the L2.
inline std::optional<LayerOperator> memory_bound_operator(const CsvRow& row) {
  const std::string operation(row.text("op"));
  const std::int64_t tokens = row.positive_integer("num_tokens");
  const std::int64_t width = row.positive_integer("n_embd");
  const std::int64_t parts = row.positive_integer("num_tensor_parallel_workers");
  const std::int64_t heads = row.positive_integer("n_head");
  const std::int64_t inner = row.positive_integer("n_expanded_embd") / parts;
  const bool is_activation = operation == "mlp_act";
  if (tokens * (is_activation ? inner : width) * 2 < 10'000'000) return {};
  // Phi adds twice in one operator.
  if (operation == "add" && row.text("model").find("phi") == std::string_view::npos &&
      6 * tokens * width >= 100'000'000)
    return LayerOperator{"add",
                         element_wise({.elements = tokens * width, .bytes_read = 4, .bytes_written = 2, .flops = 1})};
  if (operation == "input_layernorm" || operation == "post_attention_layernorm")
    return LayerOperator{"norm", norm({.rows = tokens, .width = width})};
  if (is_activation && row.text("use_gated_mlp") == "True")
    return LayerOperator{"swiglu", activation({.rows = tokens, .width = inner})};
  if (is_activation)
    return LayerOperator{"gelu", activation({.rows = tokens, .width = inner, .kind = ActivationKind::gelu})};
  if (operation == "attn_rope") {
    const std::int64_t all_heads = heads / parts + std::max<std::int64_t>(1, row.positive_integer("n_kv_head") / parts);
    return LayerOperator{"rotary", rotary({.tokens = tokens, .heads = all_heads, .head_dim = width / heads})};
  }
  if (operation == "emb")
    return LayerOperator{"embedding", embedding({.tokens = tokens, .vocabulary = 1, .width = width})};
  return {};
}

}  // namespace warploom::validation
