// SPDX-License-Identifier: Apache-2.0
// Parameter counts of a decoder: per layer QKV, output, MLP or router and experts, and norms; embeddings, positions,
// final norm, head.
#include "workloads/models/model.hpp"

namespace warploom {

std::int64_t Model::layer_parameters_a_rank(std::int64_t tensor) const {
  std::int64_t cut = hidden * qkv_width() + query_width() * hidden + (has_qkv_bias ? qkv_width() : 0);
  std::int64_t whole = 2 * norm_parameters() + (has_output_bias ? hidden : 0) + (has_qk_norm ? 2 * head_dim : 0);
  if (has_experts()) {
    cut += experts.count * gated_parameters(experts.ffn) + gated_parameters(experts.shared_ffn);
    whole += hidden * experts.count + (experts.shared_ffn > 0 ? hidden : 0);  // router; gate of the shared expert
  } else {
    cut += gated_parameters(ffn) + (has_mlp_bias ? first_mlp_width() : 0);
    whole += has_mlp_bias ? hidden : 0;
  }
  return cut / tensor + whole;
}

std::int64_t Model::parameters() const {
  return layers * layer_parameters() + embedding_parameters() + position_parameters() + norm_parameters() +
         head_parameters();
}

std::int64_t Model::active_parameters() const {
  const std::int64_t idle = experts.count - experts.per_token;
  return parameters() - layers * idle * gated_parameters(experts.ffn);
}

std::int64_t Model::multiplied_parameters() const {
  return active_parameters() - position_parameters() - (has_tied_embeddings ? 0 : embedding_parameters());
}

Bytes Model::kv_cache_per_token(DataType type) const { return Bytes(2 * layers * kv_width()) * bits(type) / 8; }

Bytes Model::weights(DataType type) const { return Bytes(parameters()) * bits(type) / 8; }

}  // namespace warploom
