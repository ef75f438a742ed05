// SPDX-License-Identifier: Apache-2.0
// The ends of the model as rows: vocabulary-parallel embedding, final norm, head and cross-entropy (Megatron-LM): each
// rank has a slice of the vocabulary; the loss needs the largest logit (one all-reduce) and the sum of exponentials
// with the target's logit (one more).
#include "workloads/training/model_rows.hpp"

namespace warploom {

namespace {
constexpr auto activations = MemoryPart::activations;
constexpr auto buffers = MemoryPart::buffers;
}  // namespace

void ModelRows::embedding_forward(StepWriter& writer) const {
  const Row lookup = writer.compute("embedding", kernels.embedding.forward, Cause::other_compute);
  writer.take(lookup, buffers, bytes.whole);
  const Row reduced = reduce(writer, "embedding_reduce", bytes.whole);
  Row last = lookup;
  if (job.model.positions == PositionKind::learned || job.model.has_dropout) {
    last = writer.compute("embedding_positions", kernels.position_add, Cause::other_compute, reduced);
    writer.take(last, activations, bytes.mask);
  } else if (reduced != none) {
    last = reduced;
  }
  // What arrives is the first layer's input.
  writer.take_at_end(last, activations, bytes.local);
  writer.give(last, buffers, bytes.local);
}

void ModelRows::embedding_backward(StepWriter& writer) const {
  if (job.model.has_dropout) {
    writer.give(writer.compute("embedding_dropout_backward", kernels.dropout_backward, Cause::other_compute),
                activations, bytes.mask);
  }
  const Row all = gather(writer, "embedding_gradient_gather", bytes.whole);
  const Row row = writer.compute("embedding_backward", kernels.embedding.backward, Cause::other_compute, all);
  writer.give(row, buffers, bytes.local + (all == none ? 0 : bytes.whole));
}

void ModelRows::head_forward(StepWriter& writer) const {
  const Row norm = writer.compute("final_norm", kernels.norm.forward, Cause::other_compute);
  writer.take(norm, activations, bytes.local);
  const Row all = gather(writer, "head_gather", bytes.whole);
  const Row head = writer.compute("head", kernels.head.forward, Cause::gemm, all);
  writer.take(head, buffers, bytes.logits);
  writer.give(head, buffers, all == none ? 0 : bytes.whole);
  chain(writer, kernels.loss_largest, Cause::other_compute, 0);
  Row reduced = none;
  if (has_tensor_group) {
    reduced = writer.collective("loss_largest_reduce", CollectiveKind::all_reduce, bytes.statistics, DataType::fp32);
  }
  const Row loss = chain(writer, kernels.loss_sums, Cause::other_compute, 0, reduced);
  writer.take(loss, buffers, bytes.softmax);
  writer.give(loss, buffers, bytes.logits);
  if (has_tensor_group) {
    reduced = writer.collective("loss_sums_reduce", CollectiveKind::all_reduce, 2 * bytes.statistics, DataType::fp32);
  }
  chain(writer, kernels.loss_after, Cause::other_compute, 0, reduced);
}

void ModelRows::head_backward(StepWriter& writer) const {
  const std::int64_t gathered = cuts_sequence ? bytes.whole : 0;
  const Row loss = chain(writer, kernels.loss_backward, Cause::other_compute, 0);
  writer.take(loss, buffers, bytes.logits);
  writer.give(loss, buffers, bytes.softmax);
  const Row input = gather(writer, "head_gather_again", bytes.whole);
  const Row through = writer.compute("head_dgrad", kernels.head.input_gradient, Cause::gemm);
  writer.take(through, buffers, bytes.whole);
  const Row reduced = reduce(writer, "head_gradient_reduce", bytes.whole);
  const Row weights = writer.compute("head_wgrad", kernels.head.weight_gradient, Cause::gemm, input);
  writer.give(weights, activations, bytes.local);
  writer.give(weights, buffers, gathered + bytes.logits);
  const Row norm = writer.compute("final_norm_backward", kernels.norm.backward, Cause::other_compute, reduced);
  writer.give(norm, activations, bytes.local);
}

}  // namespace warploom
