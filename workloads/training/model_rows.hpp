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
  bool overlaps_tensor;

  explicit ModelRows(const TrainingJob& job);

  StepTemplate forward(Program& program, const Chunk& chunk) const;
  StepTemplate backward(Program& program, const Chunk& chunk) const;

 private:
  enum class Keep : std::uint8_t { all, core_recomputed, cheap_recomputed, nothing };
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

  // row_pieces.cpp: what layers and ends are put together from. Each returns its last row, or `none` where there is
  // nothing to do.
  // local -> whole, takes the whole as a buffer; `bytes_moved`: of the whole, as it is moved.
  Row gather(StepWriter& writer, std::string_view name, std::int64_t bytes_moved) const;
  // partial whole -> local, gives the whole back.
  Row reduce(StepWriter& writer, std::string_view name, std::int64_t bytes_moved) const;
  // A product of what `all` gathers; with overlap it starts with the pieces that are there.
  Row product_of_gathered(StepWriter& writer, std::string_view name, const Kernel& product, Row all) const;
  // A product whose result is reduced; with overlap the reduction of a piece runs beside the next piece's product.
  Row reduced_product(StepWriter& writer, std::string_view name, const Kernel& product,
                      std::string_view reduce_name) const;
  // Kernels one after the other, the first after `before`; `shifted`: bytes of keys and values that go around.
  Row chain(StepWriter& writer, const KernelChain& kernels, Cause cause, std::int64_t shifted, Row before = none) const;
  Row quantise(StepWriter& writer, std::string_view name, const std::optional<Kernel>& kernel) const;
};

}  // namespace warploom
