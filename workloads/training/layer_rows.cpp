// SPDX-License-Identifier: Apache-2.0
// A transformer layer as rows, as Megatron-LM runs it (arXiv:2205.05198): with sequence parallelism an all-gather
// before and a reduce-scatter after attention and MLP; backward mirrored, with the input gathered again beside the
// input gradient's product and the gradient reduce-scattered beside the weight gradient's product. Without it an
// all-reduce after each part, forward and backward.
//
// Kept from forward to backward, in bytes of a rank (16-bit, s b h each): layer input 2, norm output 2, Q K V,
// attention output and its log-sum-exp, attention's residual 2, norm output 2, MLP before and after the activation,
// masks 1 + 1 with dropout. For GELU, ffn = 4h and as many KV heads as heads that is 34 s b h / t, the published sum;
// unfused attention keeps 5 a s^2 b / t more, unless its core is recomputed.
#include "workloads/training/model_rows.hpp"

namespace warploom {

namespace {
constexpr auto activations = MemoryPart::activations;
constexpr auto buffers = MemoryPart::buffers;
}  // namespace

void ModelRows::layer_forward(StepWriter& writer, Keep keep, bool is_again) const {
  attention_forward(writer, keep);
  mlp_forward(writer, keep, !is_again);
}

void ModelRows::attention_forward(StepWriter& writer, Keep keep) const {
  const bool drops_norm = keep == Keep::cheap_recomputed || keep == Keep::nothing;
  const std::int64_t gathered = cuts_sequence ? bytes.whole : 0;

  const Row norm = writer.compute("attention_norm", kernels.norm.forward, Cause::other_compute);
  writer.take(norm, activations, bytes.local);
  const Row all = gather(writer, "attention_gather", bytes.moved);
  const Row qkv = product_of_gathered(writer, "qkv", kernels.qkv.forward, all);
  writer.take(qkv, activations, bytes.qkv);
  writer.give(qkv, buffers, gathered);
  if (drops_norm) writer.give(qkv, activations, bytes.local);
  for (const NamedKernel& part : kernels.query_key_forward) {
    writer.compute(part.name, part.kernel, Cause::other_compute);
  }
  const Row attention = chain(writer, kernels.attention_forward, Cause::attention, bytes.shifted);
  writer.take(attention, activations, bytes.query_key + bytes.attention + bytes.log_sum_exp + bytes.scores);
  if (keep == Keep::core_recomputed) writer.give(attention, activations, bytes.scores);
  quantise(writer, "projection_quantise", kernels.projection.quantise_input);
  const Row reduced = reduced_product(writer, "projection", kernels.projection.forward, "attention_reduce");
  const Row add = writer.compute("attention_residual", kernels.residual_add, Cause::other_compute, reduced);
  writer.take(add, activations, bytes.local + bytes.mask);
  writer.give(add, buffers, bytes.local);
  if (keep == Keep::nothing) {
    writer.give(add, activations,
                bytes.qkv + bytes.query_key + bytes.attention + bytes.log_sum_exp + bytes.scores + bytes.mask);
  }
}

void ModelRows::mlp_forward(StepWriter& writer, Keep keep, bool keeps_output) const {
  const bool drops_cheap = keep == Keep::cheap_recomputed || keep == Keep::nothing;
  const std::int64_t gathered = cuts_sequence ? bytes.whole : 0;

  const Row norm = writer.compute("mlp_norm", kernels.norm.forward, Cause::other_compute);
  writer.take(norm, activations, bytes.local);
  const Row all = gather(writer, "mlp_gather", bytes.moved);
  const Row first = product_of_gathered(writer, "mlp_first", kernels.first_mlp.forward, all);
  writer.take(first, activations, bytes.first_mlp);
  writer.give(first, buffers, gathered);
  if (drops_cheap) writer.give(first, activations, bytes.local);
  const Row activation = writer.compute("activation", kernels.activation.forward, Cause::other_compute);
  writer.take(activation, activations, bytes.activation);
  quantise(writer, "mlp_second_quantise", kernels.second_mlp.quantise_input);
  const Row reduced = reduced_product(writer, "mlp_second", kernels.second_mlp.forward, "mlp_reduce");
  const Row add = writer.compute("mlp_residual", kernels.residual_add, Cause::other_compute, reduced);
  if (drops_cheap) writer.give(add, activations, bytes.activation);
  writer.take(add, activations, bytes.local + bytes.mask);
  writer.give(add, buffers, bytes.local);
  if (keep == Keep::nothing) writer.give(add, activations, bytes.first_mlp + bytes.local + bytes.mask);
  if (!keeps_output) writer.give(add, activations, bytes.local);
}

// Starts with the gradient of the layer's output in a buffer (`local`) and leaves that of its input in one.
void ModelRows::layer_backward(StepWriter& writer) const {
  if (keep() == Keep::nothing) {
    writer.set_recomputing(true);
    layer_forward(writer, Keep::all, true);
    writer.set_recomputing(false);
  }
  const Keep kept = keep() == Keep::nothing ? Keep::all : keep();
  mlp_backward(writer, kept);
  attention_backward(writer, kept);
}

void ModelRows::mlp_backward(StepWriter& writer, Keep kept) const {
  const bool again = kept == Keep::cheap_recomputed;
  const std::int64_t gathered = cuts_sequence ? bytes.whole : 0;

  if (job.model.has_dropout) {
    writer.give(writer.compute("mlp_dropout_backward", kernels.dropout_backward, Cause::other_compute), activations,
                bytes.mask);
  }
  quantise(writer, "mlp_second_gradient_quantise", kernels.second_mlp.quantise_gradient);
  const Row all = gather(writer, "mlp_gradient_gather", bytes.moved);
  const Row through_second = product_of_gathered(writer, "mlp_second_dgrad", kernels.second_mlp.input_gradient, all);
  writer.take(through_second, buffers, bytes.activation);
  if (again) {
    writer.take(writer.compute("activation_again", kernels.activation.forward, Cause::recompute), activations,
                bytes.activation);
  }
  quantise(writer, "mlp_second_gradient_transpose", kernels.second_mlp.transpose_gradient);
  const Row second_weights = writer.compute("mlp_second_wgrad", kernels.second_mlp.weight_gradient, Cause::gemm);
  writer.give(second_weights, activations, bytes.activation);
  writer.give(second_weights, buffers, gathered);
  const Row activation = writer.compute("activation_backward", kernels.activation.backward, Cause::other_compute);
  writer.take(activation, buffers, bytes.first_mlp);
  writer.give(activation, buffers, bytes.activation);
  writer.give(activation, activations, bytes.first_mlp);
  if (again) {
    writer.take(writer.compute("mlp_norm_again", kernels.norm.forward, Cause::recompute), activations, bytes.local);
  }
  quantise(writer, "mlp_first_gradient_quantise", kernels.first_mlp.quantise_gradient);
  const Row input = gather(writer, "mlp_gather_again", bytes.moved);
  const Row through_first = writer.compute("mlp_first_dgrad", kernels.first_mlp.input_gradient, Cause::gemm);
  writer.take(through_first, buffers, bytes.whole);
  const Row reduced = reduce(writer, "mlp_gradient_reduce", bytes.whole);
  const Row transposed = quantise(writer, "mlp_first_input_transpose", kernels.first_mlp.transpose_input);
  if (transposed != none) writer.wait(transposed, input);
  const Row first_weights = writer.compute("mlp_first_wgrad", kernels.first_mlp.weight_gradient, Cause::gemm, input);
  writer.give(first_weights, activations, bytes.local);
  writer.give(first_weights, buffers, gathered + bytes.first_mlp);
  const Row norm = writer.compute("mlp_norm_backward", kernels.norm.backward, Cause::other_compute, reduced);
  writer.give(norm, activations, bytes.local);
  // What came through the MLP and what went past it.
  writer.give(writer.compute("mlp_gradient_add", kernels.gradient_add, Cause::other_compute), buffers, bytes.local);
}

void ModelRows::attention_backward(StepWriter& writer, Keep kept) const {
  const bool again = kept == Keep::cheap_recomputed;
  const std::int64_t gathered = cuts_sequence ? bytes.whole : 0;

  if (job.model.has_dropout) {
    writer.give(writer.compute("attention_residual_dropout_backward", kernels.dropout_backward, Cause::other_compute),
                activations, bytes.mask);
  }
  quantise(writer, "projection_gradient_quantise", kernels.projection.quantise_gradient);
  const Row all = gather(writer, "attention_gradient_gather", bytes.moved);
  const Row through_projection =
      product_of_gathered(writer, "projection_dgrad", kernels.projection.input_gradient, all);
  writer.take(through_projection, buffers, bytes.attention);
  quantise(writer, "projection_gradient_transpose", kernels.projection.transpose_gradient);
  const Row projection_weights = writer.compute("projection_wgrad", kernels.projection.weight_gradient, Cause::gemm);
  writer.give(projection_weights, buffers, gathered);
  if (kept == Keep::core_recomputed) {
    writer.set_recomputing(true);
    writer.take(chain(writer, kernels.attention_forward, Cause::recompute, bytes.shifted), activations, bytes.scores);
    writer.set_recomputing(false);
  }
  const Row attention = chain(writer, kernels.attention_backward, Cause::attention, 2 * bytes.shifted);
  writer.take(attention, buffers, bytes.qkv);
  writer.give(attention, buffers, bytes.attention);
  writer.give(attention, activations, bytes.attention + bytes.log_sum_exp + bytes.scores + bytes.qkv + bytes.query_key);
  for (const NamedKernel& part : kernels.query_key_backward) {
    writer.compute(part.name, part.kernel, Cause::other_compute);
  }
  if (again) {
    writer.take(writer.compute("attention_norm_again", kernels.norm.forward, Cause::recompute), activations,
                bytes.local);
  }
  quantise(writer, "qkv_gradient_quantise", kernels.qkv.quantise_gradient);
  const Row input = gather(writer, "attention_gather_again", bytes.moved);
  const Row through_qkv = writer.compute("qkv_dgrad", kernels.qkv.input_gradient, Cause::gemm);
  writer.take(through_qkv, buffers, bytes.whole);
  const Row reduced = reduce(writer, "attention_gradient_reduce", bytes.whole);
  const Row transposed = quantise(writer, "qkv_input_transpose", kernels.qkv.transpose_input);
  if (transposed != none) writer.wait(transposed, input);
  const Row qkv_weights = writer.compute("qkv_wgrad", kernels.qkv.weight_gradient, Cause::gemm, input);
  writer.give(qkv_weights, activations, bytes.local);
  writer.give(qkv_weights, buffers, gathered + bytes.qkv);
  const Row norm = writer.compute("attention_norm_backward", kernels.norm.backward, Cause::other_compute, reduced);
  writer.give(norm, activations, bytes.local);
  writer.give(writer.compute("attention_gradient_add", kernels.gradient_add, Cause::other_compute), buffers,
              bytes.local);
}

}  // namespace warploom
