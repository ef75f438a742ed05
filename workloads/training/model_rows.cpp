// SPDX-License-Identifier: Apache-2.0
// A chunk's forward and backward: its units (embedding, layers, head) one after the other.
#include "workloads/training/model_rows.hpp"

namespace warploom {

ModelRows::ModelRows(const TrainingJob& of)
    : job(of),
      kernels(layer_kernels(of)),
      bytes(layer_bytes(of)),
      cuts_sequence(of.layout.cuts_sequence()),
      has_tensor_group(of.layout.tensor > 1),
      overlaps_tensor(of.training.overlap_tensor && of.layout.cuts_sequence()) {}

ModelRows::Keep ModelRows::keep() const {
  switch (job.training.recompute) {
    case Recompute::none:
      return Keep::all;
    case Recompute::selective:
      return job.training.attention == AttentionKind::unfused ? Keep::core_recomputed : Keep::cheap_recomputed;
    case Recompute::full:
      return Keep::nothing;
  }
  return Keep::all;
}

StepTemplate ModelRows::forward(Program& program, const Chunk& chunk) const {
  StepWriter writer(program, Phase::forward);
  if (chunk.has_embedding) {
    writer.begin_unit(-1);
    embedding_forward(writer);
    writer.end_unit();
  }
  for (std::int64_t layer = 0; layer < chunk.layers; ++layer) {
    writer.begin_unit(static_cast<std::int32_t>(layer));
    layer_forward(writer, keep(), false);
    writer.end_unit();
  }
  if (chunk.has_head) {
    writer.begin_unit(-1);
    head_forward(writer);
    writer.end_unit();
  }
  return writer.finish();
}

StepTemplate ModelRows::backward(Program& program, const Chunk& chunk) const {
  StepWriter writer(program, Phase::backward);
  if (chunk.has_head) {
    writer.begin_unit(-1);
    head_backward(writer);
    writer.end_unit();
  }
  for (std::int64_t layer = chunk.layers; layer-- > 0;) {
    writer.begin_unit(static_cast<std::int32_t>(layer));
    layer_backward(writer);
    writer.end_unit();
  }
  if (chunk.has_embedding) {
    writer.begin_unit(-1);
    embedding_backward(writer);
    writer.end_unit();
  }
  return writer.finish();
}

}  // namespace warploom
