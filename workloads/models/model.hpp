// SPDX-License-Identifier: Apache-2.0
// A decoder-only transformer as numbers, dense or with a mixture of experts: what its layers are made of, and how many
// parameters that is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hw_models/kernels/norm.hpp"
#include "sim/core/units.hpp"
#include "sim/work/data_type.hpp"

namespace warploom {

enum class PositionKind : std::uint8_t { rotary, learned };

// In place of the MLP of every layer: a router and gated experts, of which a token takes `per_token`
// (Mixtral, arXiv:2401.04088; Qwen3, arXiv:2505.09388).
struct Experts {
  std::int64_t count = 0;  // 0: the layers are dense
  std::int64_t per_token = 0;
  std::int64_t ffn = 0;         // width of one expert
  std::int64_t shared_ffn = 0;  // of the gated expert that every token passes besides; 0: there is none
};

struct Model {
  std::string name;
  std::int64_t layers = 1;
  std::int64_t hidden = 1;
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t head_dim = 1;
  std::int64_t ffn = 1;  // of a dense layer
  Experts experts;
  std::int64_t vocab = 1;
  std::int64_t max_positions = 1;
  bool is_gated = true;  // SwiGLU or GeGLU: the first MLP product is twice as wide
  std::string activation = "silu";
  NormKind norm = NormKind::rms;
  PositionKind positions = PositionKind::rotary;
  bool has_tied_embeddings = false;
  bool has_qkv_bias = false;
  bool has_qk_norm = false;      // RMS norm of each head's query and key, one scale a kind
  bool has_output_bias = false;  // of the attention's output projection
  bool has_mlp_bias = false;
  bool has_dropout = false;               // after attention and MLP; keeps a mask of one byte an element
  std::vector<std::string> ignored_keys;  // of the file that it was read from

  // Widths of the projections.
  std::int64_t query_width() const { return heads * head_dim; }
  std::int64_t kv_width() const { return kv_heads * head_dim; }  // K or V, one of them
  std::int64_t qkv_width() const { return query_width() + 2 * kv_width(); }
  std::int64_t first_mlp_width() const { return (is_gated ? 2 : 1) * ffn; }
  bool has_experts() const { return experts.count > 0; }

  // Parameters. Matrices are cut by tensor parallelism, vectors that every rank needs (norms, output biases) are not.
  std::int64_t norm_parameters() const { return (norm == NormKind::rms ? 1 : 2) * hidden; }
  std::int64_t layer_parameters() const { return layer_parameters_a_rank(1); }
  std::int64_t layer_parameters_a_rank(std::int64_t tensor) const;
  std::int64_t embedding_parameters() const { return vocab * hidden; }
  std::int64_t position_parameters() const { return positions == PositionKind::learned ? max_positions * hidden : 0; }
  std::int64_t head_parameters() const { return has_tied_embeddings ? 0 : vocab * hidden; }
  std::int64_t parameters() const;
  // Those that one token uses: of the experts only the ones that it is sent to.
  std::int64_t active_parameters() const;
  // Those that a token is multiplied with: the input table is looked up, not multiplied (tied: it is, as the head).
  std::int64_t multiplied_parameters() const;

  // Keys and values that one token leaves in the cache, over all layers.
  Bytes kv_cache_per_token(DataType type) const;
  Bytes weights(DataType type) const;

 private:
  std::int64_t gated_parameters(std::int64_t width) const { return hidden * width * (is_gated ? 3 : 2); }
};

}  // namespace warploom
