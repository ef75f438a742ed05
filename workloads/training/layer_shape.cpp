// SPDX-License-Identifier: Apache-2.0
// Shapes of kernels and tensors on one rank of a tensor-parallel group: heads, MLP width and vocabulary are cut by t;
// norms and residuals work on all tokens, or with sequence parallelism on 1/t of them.
#include "workloads/training/layer_shape.hpp"

#include "hw_models/kernels/activation.hpp"
#include "hw_models/kernels/attention.hpp"
#include "hw_models/kernels/cross_entropy.hpp"
#include "hw_models/kernels/dropout.hpp"
#include "hw_models/kernels/element_wise.hpp"
#include "hw_models/kernels/embedding.hpp"
#include "hw_models/kernels/gemm.hpp"
#include "hw_models/kernels/norm.hpp"
#include "hw_models/kernels/rotary.hpp"
#include "hw_models/kernels/softmax.hpp"

namespace warploom {

namespace {

ProductKernels product(const TrainingJob& job, std::int64_t in, std::int64_t out, DataType operands) {
  const std::int64_t tokens = job.tokens_a_micro_batch();
  const DataType type = job.type();
  ProductKernels kernels;
  kernels.forward = gemm({.m = tokens, .n = out, .k = in, .input = operands, .output = type});
  // Transformer Engine and torchao: fast accumulation forward only.
  const bool promotes = operands == DataType::fp8;
  kernels.input_gradient =
      gemm({.m = tokens, .n = in, .k = out, .input = operands, .output = type, .split_accumulator = promotes});
  kernels.weight_gradient = gemm({.m = out,
                                  .n = in,
                                  .k = tokens,
                                  .input = operands,
                                  .output = job.gradient_type(),
                                  .accumulate = true,
                                  .split_accumulator = promotes});
  return kernels;
}

// Where a layer's product stands between the tensor ranks: its input is gathered, or its result reduced.
enum class Side : std::uint8_t { gathers, reduces };

// Quantised as Transformer Engine does it: norms write their result quantised, what comes from another kernel and all
// gradients are converted by kernels of their own. The weight gradient takes transposed copies: the conversion writes
// both, but what is gathered between the ranks in between is transposed after it.
ProductKernels layer_product(const TrainingJob& job, std::int64_t in, std::int64_t out, Side side) {
  ProductKernels kernels = product(job, in, out, job.product_type());
  if (job.training.types.product == ProductType::compute) return kernels;
  const std::int64_t tokens = job.tokens_a_micro_batch();
  const std::int64_t local = job.layout.cuts_sequence() ? tokens / job.layout.tensor : tokens;
  const bool looks_first = job.training.types.product == ProductType::fp8_current;  // for the largest value
  const std::int64_t read = bits(job.type()) / 8 * (looks_first ? 2 : 1);
  const auto convert = [&](std::int64_t elements, std::int64_t copies) {
    return element_wise({.elements = elements, .bytes_read = read, .bytes_written = copies, .flops = 2});
  };
  const auto transpose = [&](std::int64_t elements) {
    return element_wise({.elements = elements, .bytes_read = 1, .bytes_written = 1, .flops = 0});
  };
  if (side == Side::gathers) {
    kernels.transpose_input = transpose(tokens * in);
    kernels.quantise_gradient = convert(tokens * out, 2);
  } else {
    kernels.quantise_input = convert(tokens * in, 2);
    const bool gathers_gradient = local != tokens;
    kernels.quantise_gradient = convert(local * out, gathers_gradient ? 1 : 2);
    if (gathers_gradient) kernels.transpose_gradient = transpose(tokens * out);
  }
  return kernels;
}

// Without a context dimension one kernel. With it, a ring (zigzag shares: every rank has as many scores): the own keys,
// then those of each other rank, half of which its queries see; at the end the parts are put together.
void add_flash_attention(const TrainingJob& job, LayerKernels& kernels) {
  const Model& model = job.model;
  const std::int64_t c = job.layout.context;
  AttentionShape shape;
  shape.batch = job.training.micro_batch;
  shape.query_heads = model.heads / job.layout.tensor;
  shape.kv_heads = model.kv_heads / job.layout.tensor;
  shape.query_length = shape.kv_length = job.training.sequence_length / c;
  shape.head_dim = model.head_dim;
  shape.type = job.type();
  AttentionShape of_others = shape;
  of_others.kv_length = (shape.kv_length + 1) / 2;
  of_others.causal = false;
  for (const bool backward : {false, true}) {
    shape.backward = of_others.backward = backward;
    KernelChain& chain = backward ? kernels.attention_backward : kernels.attention_forward;
    chain.push_back({backward ? "attention_backward" : "attention", attention(shape)});
    for (std::int64_t other = 1; other < c; ++other) {
      chain.push_back({backward ? "attention_backward_ring" : "attention_ring", attention(of_others), true});
    }
  }
  const std::int64_t element = bits(job.type()) / 8;
  if (model.positions == PositionKind::rotary) {
    // Rotated queries and keys are tensors of their own: their gradients go back beside those of the values.
    kernels.attention_backward.push_back(
        {"attention_join_qkv",
         element_wise({.elements = job.tokens_a_micro_batch() * model.qkv_width() / job.layout.tensor,
                       .bytes_read = element,
                       .bytes_written = element,
                       .flops = 0})});
  }
  if (c > 1) {
    kernels.attention_forward.push_back(
        {"attention_join",
         element_wise({.elements = job.tokens_a_micro_batch() * model.query_width() / job.layout.tensor,
                       .bytes_read = c * element,
                       .bytes_written = element,
                       .flops = 2 * c})});
  }
}

// Scores S = Q K^T, masked softmax, dropout, values V; between the products all is [heads, s, s] in memory.
// Megatron-LM's batched products work on every pair of positions, also where a query does not see the key.
void add_unfused_attention(const TrainingJob& job, LayerKernels& kernels) {
  const Model& model = job.model;
  const std::int64_t s = job.training.sequence_length;
  const std::int64_t d = model.head_dim;
  const std::int64_t heads = job.training.micro_batch * model.heads / job.layout.tensor;
  const std::int64_t element = bits(job.type()) / 8;
  const auto product_of = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    return gemm({.m = m, .n = n, .k = k, .batch = heads, .input = job.type(), .output = job.type()});
  };
  const auto copy = [&](std::int64_t elements) {
    return element_wise({.elements = elements, .bytes_read = element, .bytes_written = element, .flops = 0});
  };
  const std::int64_t tokens = job.tokens_a_micro_batch();
  const std::int64_t output = tokens * model.query_width() / job.layout.tensor;
  SoftmaxShape probabilities{.matrices = heads, .rows = s, .width = s, .causal = true, .type = job.type()};
  DropoutShape dropped{.elements = heads * s * s, .type = job.type()};
  KernelChain& forward = kernels.attention_forward;
  forward.push_back({"attention_scores", product_of(s, s, d)});
  forward.push_back({"attention_softmax", softmax(probabilities)});
  if (model.has_dropout) forward.push_back({"attention_dropout", dropout(dropped)});
  forward.push_back({"attention_values", product_of(s, d, s)});
  forward.push_back({"attention_merge_heads", copy(output)});
  probabilities.backward = dropped.backward = true;
  KernelChain& backward = kernels.attention_backward;
  backward.push_back({"attention_split_heads", copy(output)});
  backward.push_back({"attention_values_dgrad", product_of(s, s, d)});
  backward.push_back({"attention_value_gradient", product_of(s, d, s)});
  if (model.has_dropout) backward.push_back({"attention_dropout_backward", dropout(dropped)});
  backward.push_back({"attention_softmax_backward", softmax(probabilities)});
  backward.push_back({"attention_query_gradient", product_of(s, d, s)});
  backward.push_back({"attention_key_gradient", product_of(s, d, s)});
  backward.push_back({"attention_join_qkv", copy(tokens * model.qkv_width() / job.layout.tensor)});
}

// Unfused: an FP32 copy; largest; minus it; exponential; sum; divided by the sum; backward times the gradient of the
// loss, and back to the type of the logits.
void add_loss_kernels(const TrainingJob& job, std::int64_t tokens, std::int64_t slice, LayerKernels& kernels) {
  if (job.training.loss == LossKind::fused) {
    CrossEntropyShape loss{.tokens = tokens, .vocabulary = slice, .type = job.type()};
    kernels.loss_largest = {{"loss_largest", cross_entropy(loss)}};
    loss.part = CrossEntropyPart::sum;
    kernels.loss_sums = {{"loss_sums", cross_entropy(loss)}};
    loss.part = CrossEntropyPart::backward;
    kernels.loss_backward = {{"loss_backward", cross_entropy(loss)}};
    return;
  }
  const std::int64_t element = bits(job.type()) / 8;
  const auto pass = [&](std::int64_t read, std::int64_t written, std::int64_t flops) {
    return element_wise({.elements = tokens * slice, .bytes_read = read, .bytes_written = written, .flops = flops});
  };
  kernels.loss_largest = {{"loss_copy", pass(element, 4, 0)}, {"loss_largest", pass(4, 0, 1)}};
  kernels.loss_sums = {
      {"loss_subtract", pass(4, 4, 1)}, {"loss_exponential", pass(4, 4, 2)}, {"loss_sums", pass(4, 0, 1)}};
  kernels.loss_after = {{"loss_divide", pass(4, 4, 1)}};
  kernels.loss_backward = {{"loss_backward", pass(4, 4, 1)}, {"loss_copy_backward", pass(4, element, 0)}};
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
  kernels.head = product(job, job.model.hidden, slice, job.type());
  add_loss_kernels(job, tokens, slice, kernels);
}

void add_query_key_kernels(const TrainingJob& job, std::int64_t tokens, LayerKernels& kernels) {
  const Model& model = job.model;
  const std::int64_t heads = (model.heads + model.kv_heads) / job.layout.tensor;
  if (model.has_qk_norm) {
    NormShape shape{.rows = tokens * heads, .width = model.head_dim, .kind = NormKind::rms, .type = job.type()};
    kernels.query_key_forward.push_back({"query_key_norm", norm(shape)});
    shape.backward = true;
    kernels.query_key_backward.push_back({"query_key_norm_backward", norm(shape)});
  }
  if (model.positions == PositionKind::rotary) {
    // Rotating back by the opposite angle costs the same.
    const Kernel rotation = rotary({.tokens = tokens, .heads = heads, .head_dim = model.head_dim, .type = job.type()});
    kernels.query_key_forward.push_back({"rotary", rotation});
    kernels.query_key_backward.insert(kernels.query_key_backward.begin(), {"rotary_backward", rotation});
  }
}

}  // namespace

LayerKernels layer_kernels(const TrainingJob& job) {
  const Model& model = job.model;
  const std::int64_t t = job.layout.tensor;
  const std::int64_t tokens = job.tokens_a_micro_batch();
  const std::int64_t local_tokens = job.layout.cuts_sequence() ? (tokens + t - 1) / t : tokens;
  const std::int64_t local_elements = local_tokens * model.hidden;

  LayerKernels kernels;
  NormShape norm_shape{.rows = local_tokens, .width = model.hidden, .kind = model.norm, .type = job.type()};
  kernels.norm.forward = norm(norm_shape);
  norm_shape.backward = true;
  kernels.norm.backward = norm(norm_shape);
  kernels.qkv = layer_product(job, model.hidden, model.qkv_width() / t, Side::gathers);
  add_query_key_kernels(job, tokens, kernels);
  if (job.training.attention == AttentionKind::flash) {
    add_flash_attention(job, kernels);
  } else {
    add_unfused_attention(job, kernels);
  }
  kernels.projection = layer_product(job, model.query_width() / t, model.hidden, Side::reduces);
  kernels.first_mlp = layer_product(job, model.hidden, model.first_mlp_width() / t, Side::gathers);
  ActivationShape activation_shape{.rows = tokens,
                                   .width = model.ffn / t,
                                   .kind = model.is_gated ? ActivationKind::swiglu : ActivationKind::gelu,
                                   .type = job.type(),
                                   .bias = model.has_mlp_bias};
  kernels.activation.forward = activation(activation_shape);
  activation_shape.backward = true;
  kernels.activation.backward = activation(activation_shape);
  kernels.second_mlp = layer_product(job, model.ffn / t, model.hidden, Side::reduces);
  const std::int64_t element = bits(job.type()) / 8;
  kernels.gradient_add =
      element_wise({.elements = local_elements, .bytes_read = 2 * element, .bytes_written = element});
  DropoutShape dropped{.elements = local_elements, .adds = true, .bias = model.has_output_bias, .type = job.type()};
  kernels.residual_add = model.has_dropout ? dropout(dropped) : kernels.gradient_add;
  dropped.backward = true;
  kernels.dropout_backward = dropout(dropped);
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
  bytes.query_key = model.has_qk_norm ? tokens * (model.query_width() + model.kv_width()) / t * element : 0;
  bytes.attention = tokens * model.query_width() / t * element;
  const bool is_flash = job.training.attention == AttentionKind::flash;
  bytes.log_sum_exp = is_flash ? tokens * model.heads / t * 4 : 0;
  const std::int64_t score_bytes = model.has_dropout ? 2 * element + 1 : element;
  bytes.scores = is_flash ? 0 : tokens * model.heads / t * job.training.sequence_length * score_bytes;
  bytes.shifted = job.layout.context > 1 ? 2 * tokens * model.kv_width() / t * element : 0;
  bytes.moved = bytes.whole * bits(job.product_type()) / bits(job.type());
  bytes.first_mlp = tokens * model.first_mlp_width() / t * element;
  bytes.activation = tokens * model.ffn / t * element;
  bytes.logits = tokens * model.vocab / t * element;
  bytes.softmax = tokens * model.vocab / t * 4;
  bytes.statistics = tokens * 4;
  return bytes;
}

}  // namespace warploom
