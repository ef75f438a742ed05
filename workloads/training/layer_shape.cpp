// SPDX-License-Identifier: Apache-2.0
// Shapes of kernels and tensors on one rank of a tensor-parallel group: heads, MLP width and vocabulary are cut by t;
// norms and residuals work on all tokens, or with sequence parallelism on 1/t of them.
#include "workloads/training/layer_shape.hpp"

#include "hw_models/kernels/activation.hpp"
#include "hw_models/kernels/cross_entropy.hpp"
#include "hw_models/kernels/element_wise.hpp"
#include "hw_models/kernels/embedding.hpp"
#include "hw_models/kernels/flash_attention.hpp"
#include "hw_models/kernels/gemm.hpp"
#include "hw_models/kernels/norm.hpp"
#include "hw_models/kernels/rotary.hpp"

namespace warploom {

namespace {

ProductKernels product(const TrainingJob& job, std::int64_t in, std::int64_t out) {
  const std::int64_t tokens = job.tokens_a_micro_batch();
  const DataType type = job.type();
  ProductKernels kernels;
  kernels.forward = gemm({.m = tokens, .n = out, .k = in, .input = type, .output = type});
  kernels.input_gradient = gemm({.m = tokens, .n = in, .k = out, .input = type, .output = type});
  kernels.weight_gradient =
      gemm({.m = out, .n = in, .k = tokens, .input = type, .output = job.gradient_type(), .accumulate = true});
  return kernels;
}

ForwardBackward attention_kernels(const TrainingJob& job) {
  const Model& model = job.model;
  FlashAttentionShape shape;
  shape.batch = job.training.micro_batch;
  shape.query_heads = model.heads / job.layout.tensor;
  shape.kv_heads = model.kv_heads / job.layout.tensor;
  shape.query_length = shape.kv_length = job.training.sequence_length;
  shape.head_dim = model.head_dim;
  shape.type = job.type();
  ForwardBackward kernels;
  kernels.forward = flash_attention(shape);
  shape.backward = true;
  kernels.backward = flash_attention(shape);
  return kernels;
}

void add_end_kernels(const TrainingJob& job, std::int64_t local_elements, LayerKernels& kernels) {
  const std::int64_t tokens = job.tokens_a_micro_batch();
  const std::int64_t slice = job.model.vocab / job.layout.tensor;
  const std::int64_t element = bits(job.type()) / 8;
  EmbeddingShape embedding_shape{.tokens = tokens,
                                 .vocabulary = slice,
                                 .width = job.model.hidden,
                                 .type = job.type(),
                                 .gradient = job.gradient_type()};
  kernels.embedding.forward = embedding(embedding_shape);
  embedding_shape.backward = true;
  kernels.embedding.backward = embedding(embedding_shape);
  kernels.position_add = element_wise({.elements = local_elements,
                                       .bytes_read = 2 * element,
                                       .bytes_written = element + (job.model.has_dropout ? 1 : 0)});
  kernels.head = product(job, job.model.hidden, slice);
  CrossEntropyShape loss{.tokens = tokens, .vocabulary = slice, .type = job.type()};
  kernels.loss_largest = cross_entropy(loss);
  loss.part = CrossEntropyPart::sum;
  kernels.loss_sums = cross_entropy(loss);
  loss.part = CrossEntropyPart::backward;
  kernels.loss_backward = cross_entropy(loss);
}

}  // namespace

LayerKernels layer_kernels(const TrainingJob& job) {
  const Model& model = job.model;
  const std::int64_t t = job.layout.tensor;
  const std::int64_t tokens = job.tokens_a_micro_batch();
  const std::int64_t element = bits(job.type()) / 8;
  const std::int64_t local_tokens = job.layout.cuts_sequence() ? (tokens + t - 1) / t : tokens;
  const std::int64_t local_elements = local_tokens * model.hidden;

  LayerKernels kernels;
  NormShape norm_shape{.rows = local_tokens, .width = model.hidden, .kind = model.norm, .type = job.type()};
  kernels.norm.forward = norm(norm_shape);
  norm_shape.backward = true;
  kernels.norm.backward = norm(norm_shape);
  kernels.qkv = product(job, model.hidden, model.qkv_width() / t);
  // Rotating back by the opposite angle costs the same.
  kernels.rotary.forward = kernels.rotary.backward = rotary(
      {.tokens = tokens, .heads = (model.heads + model.kv_heads) / t, .head_dim = model.head_dim, .type = job.type()});
  kernels.attention = attention_kernels(job);
  kernels.projection = product(job, model.query_width() / t, model.hidden);
  kernels.first_mlp = product(job, model.hidden, model.first_mlp_width() / t);
  ActivationShape activation_shape{.rows = tokens,
                                   .width = model.ffn / t,
                                   .kind = model.is_gated ? ActivationKind::swiglu : ActivationKind::gelu,
                                   .type = job.type()};
  kernels.activation.forward = activation(activation_shape);
  activation_shape.backward = true;
  kernels.activation.backward = activation(activation_shape);
  kernels.second_mlp = product(job, model.ffn / t, model.hidden);
  const std::int64_t mask = model.has_dropout ? 1 : 0;
  kernels.residual_add =
      element_wise({.elements = local_elements, .bytes_read = 2 * element, .bytes_written = element + mask});
  kernels.gradient_add =
      element_wise({.elements = local_elements, .bytes_read = 2 * element, .bytes_written = element});
  kernels.dropout_backward =
      element_wise({.elements = local_elements, .bytes_read = element + mask, .bytes_written = element});
  add_end_kernels(job, local_elements, kernels);
  return kernels;
}

LayerBytes layer_bytes(const TrainingJob& job) {
  const Model& model = job.model;
  const std::int64_t t = job.layout.tensor;
  const std::int64_t tokens = job.tokens_a_micro_batch();
  const std::int64_t element = bits(job.type()) / 8;
  LayerBytes bytes;
  bytes.whole = tokens * model.hidden * element;
  bytes.local = job.layout.cuts_sequence() ? bytes.whole / t : bytes.whole;
  bytes.mask = model.has_dropout ? bytes.local / element : 0;
  bytes.qkv = tokens * model.qkv_width() / t * element;
  bytes.attention = tokens * model.query_width() / t * element;
  bytes.log_sum_exp = tokens * model.heads / t * 4;
  bytes.first_mlp = tokens * model.first_mlp_width() / t * element;
  bytes.activation = tokens * model.ffn / t * element;
  bytes.logits = tokens * model.vocab / t * element;
  bytes.softmax = tokens * model.vocab / t * 4;
  bytes.statistics = tokens * 4;
  return bytes;
}

}  // namespace warploom
