// SPDX-License-Identifier: Apache-2.0
// Parameter counts of a dense decoder: per layer QKV, output, MLP and two norms; embeddings, positions, final norm,
// head.
#include "workloads/models/model.hpp"

namespace warploom {

std::int64_t Model::layer_parameters_a_rank(std::int64_t tensor) const {
  const std::int64_t cut = hidden * qkv_width() + query_width() * hidden + hidden * first_mlp_width() + ffn * hidden +
                           (has_qkv_bias ? qkv_width() : 0) + (has_mlp_bias ? first_mlp_width() : 0);
  const std::int64_t whole = 2 * norm_parameters() + (has_output_bias ? hidden : 0) + (has_mlp_bias ? hidden : 0);
  return cut / tensor + whole;
}

std::int64_t Model::parameters() const {
  return layers * layer_parameters() + embedding_parameters() + position_parameters() + norm_parameters() +
         head_parameters();
}

std::int64_t Model::multiplied_parameters() const {
  return parameters() - position_parameters() - (has_tied_embeddings ? 0 : embedding_parameters());
}

Bytes Model::kv_cache_per_token(DataType type) const { return Bytes(2 * layers * kv_width()) * bits(type) / 8; }

Bytes Model::weights(DataType type) const { return Bytes(parameters()) * bits(type) / 8; }

}  // namespace warploom
