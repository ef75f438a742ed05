// SPDX-License-Identifier: Apache-2.0
// The rows of a transformer on one rank: layers, embedding and head, forward and backward.
#pragma once

#include "workloads/training/layer_shape.hpp"
#include "workloads/training/step_template.hpp"

namespace warploom {

// What all parts of the model need to write their rows.
struct ModelRows {
  const TrainingJob& job;
  LayerKernels kernels;
  LayerBytes bytes;
  bool cuts_sequence;
  bool has_tensor_group;

  explicit ModelRows(const TrainingJob& job);

  StepTemplate forward(Program& program, const Chunk& chunk) const;
  StepTemplate backward(Program& program, const Chunk& chunk) const;

 private:
  enum class Keep : std::uint8_t { all, cheap_recomputed, nothing };
  using Row = StepWriter::Row;

  Keep keep() const;
  // layer_rows.cpp
  void layer_forward(StepWriter& writer, Keep keep, bool is_again) const;
  void attention_forward(StepWriter& writer, Keep keep) const;
  void mlp_forward(StepWriter& writer, Keep keep, bool keeps_output) const;
  void layer_backward(StepWriter& writer) const;
  void mlp_backward(StepWriter& writer, Keep keep) const;
  void attention_backward(StepWriter& writer, Keep keep) const;
  // end_rows.cpp
  void embedding_forward(StepWriter& writer) const;
  void embedding_backward(StepWriter& writer) const;
  void head_forward(StepWriter& writer) const;
  void head_backward(StepWriter& writer) const;

  // The three moves of tensor parallelism; each returns the row to wait for, or `none` when there is nothing to move.
  Row gather(StepWriter& writer, std::string_view name) const;  // local -> whole, takes the whole as a buffer
  Row reduce(StepWriter& writer, std::string_view name) const;  // partial whole -> local, gives the whole back
};

}  // namespace warploom
