// SPDX-License-Identifier: Apache-2.0
// A transformer layer as rows, as Megatron-LM runs it (arXiv:2205.05198): with sequence parallelism an all-gather
// before and a reduce-scatter after attention and MLP; backward mirrored, with the input gathered again beside the
// input gradient's product and the gradient reduce-scattered beside the weight gradient's product. Without it an
// all-reduce after each part, forward and backward.
//
// Kept from forward to backward, in bytes of a rank (16-bit, s b h each): layer input 2, norm output 2, Q K V,
// attention output and its log-sum-exp, attention's residual 2, norm output 2, MLP before and after the activation,
// masks 1 + 1 with dropout. For GELU, ffn = 4h and as many KV heads as heads that is 34 s b h / t, the published sum
// without its scores.
#include "workloads/training/model_rows.hpp"

namespace warploom {

namespace {
constexpr auto activations = MemoryPart::activations;
constexpr auto buffers = MemoryPart::buffers;
}  // namespace

ModelRows::Row ModelRows::gather(StepWriter& writer, std::string_view name) const {
  if (!cuts_sequence) return none;
  const Row row = writer.collective(name, CollectiveKind::all_gather, bytes.whole, job.type());
  writer.take(row, buffers, bytes.whole);
  return row;
}

ModelRows::Row ModelRows::reduce(StepWriter& writer, std::string_view name) const {
  if (!has_tensor_group) return none;
  if (!cuts_sequence) return writer.collective(name, CollectiveKind::all_reduce, bytes.whole, job.type());
  const Row row = writer.collective(name, CollectiveKind::reduce_scatter, bytes.whole, job.type());
  writer.take(row, buffers, bytes.local);
  writer.give(row, buffers, bytes.whole);
  return row;
}

void ModelRows::layer_forward(StepWriter& writer, Keep keep, bool is_again) const {
  attention_forward(writer, keep);
  mlp_forward(writer, keep, !is_again);
}

void ModelRows::attention_forward(StepWriter& writer, Keep keep) const {
  const bool drops_norm = keep != Keep::all;
  const std::int64_t gathered = cuts_sequence ? bytes.whole : 0;

  const Row norm = writer.compute("attention_norm", kernels.norm.forward, Cause::other_compute);
  writer.take(norm, activations, bytes.local);
  const Row all = gather(writer, "attention_gather");
  const Row qkv = writer.compute("qkv", kernels.qkv.forward, Cause::gemm, all);
  writer.take(qkv, activations, bytes.qkv);
  writer.give(qkv, buffers, gathered);
  if (drops_norm) writer.give(qkv, activations, bytes.local);
  if (job.model.positions == PositionKind::rotary) {
    writer.compute("rotary", kernels.rotary.forward, Cause::other_compute);
  }
  const Row attention = writer.compute("attention", kernels.attention.forward, Cause::attention);
  writer.take(attention, activations, bytes.attention + bytes.log_sum_exp);
  const Row projection = writer.compute("projection", kernels.projection.forward, Cause::gemm);
  writer.take(projection, buffers, bytes.whole);
  const Row reduced = reduce(writer, "attention_reduce");
  const Row add = writer.compute("attention_residual", kernels.residual_add, Cause::other_compute, reduced);
  writer.take(add, activations, bytes.local + bytes.mask);
  writer.give(add, buffers, bytes.local);
  if (keep == Keep::nothing) {
    writer.give(add, activations, bytes.qkv + bytes.attention + bytes.log_sum_exp + bytes.mask);
  }
}

void ModelRows::mlp_forward(StepWriter& writer, Keep keep, bool keeps_output) const {
  const bool drops_cheap = keep != Keep::all;
  const std::int64_t gathered = cuts_sequence ? bytes.whole : 0;

  const Row norm = writer.compute("mlp_norm", kernels.norm.forward, Cause::other_compute);
  writer.take(norm, activations, bytes.local);
  const Row all = gather(writer, "mlp_gather");
  const Row first = writer.compute("mlp_first", kernels.first_mlp.forward, Cause::gemm, all);
  writer.take(first, activations, bytes.first_mlp);
  writer.give(first, buffers, gathered);
  if (drops_cheap) writer.give(first, activations, bytes.local);
  const Row activation = writer.compute("activation", kernels.activation.forward, Cause::other_compute);
  writer.take(activation, activations, bytes.activation);
  const Row second = writer.compute("mlp_second", kernels.second_mlp.forward, Cause::gemm);
  writer.take(second, buffers, bytes.whole);
  if (drops_cheap) writer.give(second, activations, bytes.activation);
  const Row reduced = reduce(writer, "mlp_reduce");
  const Row add = writer.compute("mlp_residual", kernels.residual_add, Cause::other_compute, reduced);
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
  const Keep kept = keep() == Keep::cheap_recomputed ? keep() : Keep::all;
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
  const Row all = gather(writer, "mlp_gradient_gather");
  const Row through_second = writer.compute("mlp_second_dgrad", kernels.second_mlp.input_gradient, Cause::gemm, all);
  writer.take(through_second, buffers, bytes.activation);
  if (again) {
    writer.take(writer.compute("activation_again", kernels.activation.forward, Cause::recompute), activations,
                bytes.activation);
  }
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
  const Row input = gather(writer, "mlp_gather_again");
  const Row through_first = writer.compute("mlp_first_dgrad", kernels.first_mlp.input_gradient, Cause::gemm);
  writer.take(through_first, buffers, bytes.whole);
  const Row reduced = reduce(writer, "mlp_gradient_reduce");
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
    writer.give(writer.compute("attention_dropout_backward", kernels.dropout_backward, Cause::other_compute),
                activations, bytes.mask);
  }
  const Row all = gather(writer, "attention_gradient_gather");
  const Row through_projection =
      writer.compute("projection_dgrad", kernels.projection.input_gradient, Cause::gemm, all);
  writer.take(through_projection, buffers, bytes.attention);
  const Row projection_weights = writer.compute("projection_wgrad", kernels.projection.weight_gradient, Cause::gemm);
  writer.give(projection_weights, buffers, gathered);
  const Row attention = writer.compute("attention_backward", kernels.attention.backward, Cause::attention);
  writer.take(attention, buffers, bytes.qkv);
  writer.give(attention, buffers, bytes.attention);
  writer.give(attention, activations, bytes.attention + bytes.log_sum_exp + bytes.qkv);
  if (job.model.positions == PositionKind::rotary) {
    writer.compute("rotary_backward", kernels.rotary.backward, Cause::other_compute);
  }
  if (again) {
    writer.take(writer.compute("attention_norm_again", kernels.norm.forward, Cause::recompute), activations,
                bytes.local);
  }
  const Row input = gather(writer, "attention_gather_again");
  const Row through_qkv = writer.compute("qkv_dgrad", kernels.qkv.input_gradient, Cause::gemm);
  writer.take(through_qkv, buffers, bytes.whole);
  const Row reduced = reduce(writer, "attention_gradient_reduce");
  const Row qkv_weights = writer.compute("qkv_wgrad", kernels.qkv.weight_gradient, Cause::gemm, input);
  writer.give(qkv_weights, activations, bytes.local);
  writer.give(qkv_weights, buffers, gathered + bytes.qkv);
  const Row norm = writer.compute("attention_norm_backward", kernels.norm.backward, Cause::other_compute, reduced);
  writer.give(norm, activations, bytes.local);
  writer.give(writer.compute("attention_gradient_add", kernels.gradient_add, Cause::other_compute), buffers,
              bytes.local);
}

}  // namespace warploom
