// SPDX-License-Identifier: Apache-2.0
// What a training step does with its gradients: reduce them between replicas, take their norm, update the parameters,
// and gather what the replicas updated each for themselves.
#include "hw_models/kernels/cast.hpp"
#include "hw_models/kernels/element_wise.hpp"
#include "hw_models/kernels/optimizer_update.hpp"
#include "hw_models/kernels/unscale.hpp"
#include "workloads/training/training_step.hpp"

namespace warploom {

void TrainingStep::reduce_gradients(const GradientBucket& bucket, Phase phase) {
  const std::int64_t element = bits(job_.reduce_type()) / 8;
  std::vector<MemoryDelta> memory;
  if (job_.reduce_type() != job_.gradient_type()) {
    const MemoryDelta taken{MemoryPart::buffers, false, bucket.parameters * element};
    compute("gradient_cast",
            cast({.elements = bucket.parameters, .from = job_.gradient_type(), .to = job_.reduce_type()}),
            Cause::other_compute, phase, {}, std::span(&taken, 1));
    memory.push_back({MemoryPart::buffers, true, -bucket.parameters * element});
  }
  if (job_.training.zero > 1) {
    memory.push_back({MemoryPart::gradients, true, -bucket.parameters * bits(job_.gradient_type()) / 8});
  }
  Operation operation;
  operation.cause = Cause::exposed_dp;
  operation.phase = phase;
  operation.name = program_.add_name("gradient_reduce");
  const Call call{job_.training.zero > 0 ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce,
                  Bytes(bucket.parameters * element), job_.reduce_type()};
  last_data_ = collective(data_, Lane::data, call, operation, std::span(&*last_compute_, 1), memory);
}

RowId TrainingStep::gather_parameters(const GradientBucket& bucket, Phase phase, std::optional<RowId> after) {
  Operation operation;
  operation.cause = Cause::exposed_dp;
  operation.phase = phase;
  operation.name = program_.add_name("parameter_gather");
  const Call call{CollectiveKind::all_gather, Bytes(bucket.parameters * bits(job_.type()) / 8), job_.type()};
  return collective(data_, Lane::data, call, operation,
                    after ? std::span<const RowId>(&*after, 1) : std::span<const RowId>());
}

// Gradients that are not the data-parallel groups' business: norms, of which tensor ranks see different tokens, and
// tied embeddings, which first and last stage both have.
std::optional<RowId> TrainingStep::add_small_gradients() {
  const std::int64_t element = bits(job_.gradient_type()) / 8;
  Operation operation;
  operation.phase = Phase::optimizer;
  std::optional<RowId> last;
  if (job_.layout.cuts_sequence()) {
    std::int64_t parameters = 0;
    for (int c = 0; c < static_cast<int>(job_.layout.virtual_stages); ++c) {
      parameters += (2 * chunk(c).layers + (chunk(c).has_head ? 1 : 0)) * job_.model.norm_parameters();
    }
    if (parameters > 0) {
      operation.cause = Cause::exposed_tp;
      operation.name = program_.add_name("norm_gradient_reduce");
      last = collective(tensor_, Lane::tensor,
                        {CollectiveKind::all_reduce, Bytes(parameters * element), job_.gradient_type()}, operation,
                        std::span(&*last_compute_, 1));
    }
  }
  if (tied_ && (stage_ == 0 || stage_ + 1 == job_.layout.pipeline)) {
    operation.cause = Cause::exposed_other;
    operation.name = program_.add_name("embedding_gradient_reduce");
    operation.spans_pipeline = true;
    const std::int64_t parameters = job_.model.embedding_parameters() / job_.layout.tensor;
    last_data_ =
        collective(*tied_, Lane::data, {CollectiveKind::all_reduce, Bytes(parameters * element), job_.gradient_type()},
                   operation, std::span(&*last_compute_, 1));
  }
  return last;
}

void TrainingStep::add_end() {
  if (shares_data() && !cuts_weights() && !job_.training.overlap_gradient_reduce) {
    for (int c = static_cast<int>(job_.layout.virtual_stages); c-- > 0;) {
      for (const auto& bucket : templates(c).buckets) reduce_gradients(bucket, Phase::optimizer);
    }
  }
  std::vector<RowId> after;
  if (const auto small = add_small_gradients()) after.push_back(*small);
  if (last_data_) after.push_back(*last_data_);
  add_norm_and_update(after);
}

// The norm of all gradients decides how far they are clipped: its host-side read holds back the optimizer's launch.
void TrainingStep::add_norm_and_update(std::span<const RowId> after) {
  const TrainingSpec& training = job_.training;
  const std::int64_t parameters = shard(stage_parameters(job_, chunks_, stage_));
  std::vector<RowId> started(after.begin(), after.end());
  // FP16: the optimizer's FP32 copies, divided by the loss scale and looked through for overflow; the host reads
  // whether there was one.
  DataType gradient = job_.gradient_type();
  if (job_.type() == DataType::fp16) {
    if (gradient != DataType::fp32) {
      compute("gradient_copy", cast({.elements = parameters, .from = gradient, .to = DataType::fp32}), Cause::optimizer,
              Phase::optimizer, started);
      started.clear();
    }
    gradient = DataType::fp32;
    compute("gradient_unscale", unscale({.elements = parameters}), Cause::optimizer, Phase::optimizer, started);
    started.clear();
  }
  RowId before =
      compute("gradient_norm",
              element_wise({.elements = parameters, .bytes_read = bits(gradient) / 8, .bytes_written = 0, .flops = 2}),
              Cause::optimizer, Phase::optimizer, started);
  Operation operation;
  operation.phase = Phase::optimizer;
  if (norm_.has_members()) {
    operation.cause = Cause::exposed_other;
    operation.name = program_.add_name("norm_reduce");
    operation.spans_pipeline = job_.layout.pipeline > 1;
    before = collective(norm_, Lane::data, {CollectiveKind::all_reduce, Bytes(4), DataType::fp32}, operation,
                        std::span(&before, 1));
  }
  operation = Operation{};
  operation.kind = OperationKind::host;
  operation.stream = streams_[static_cast<std::size_t>(Lane::host)];
  operation.cause = Cause::host;
  operation.phase = Phase::optimizer;
  operation.name = program_.add_name("read_gradient_norm");
  operation.duration = training.synchronisation;
  before = program_.add(operation, std::span(&before, 1));

  compute(
      "gradient_clip",
      element_wise(
          {.elements = parameters, .bytes_read = bits(gradient) / 8, .bytes_written = bits(gradient) / 8, .flops = 1}),
      Cause::optimizer, Phase::optimizer, std::span(&before, 1));
  const bool gathers_here = training.zero > 0 && !cuts_weights() && shares_data() && !training.overlap_parameter_gather;
  for (int c = 0; c < static_cast<int>(job_.layout.virtual_stages); ++c) {
    const std::int64_t of_chunk = shard(units_of(job_, chunk(c)).total());
    const RowId update =
        compute("optimizer",
                optimizer_update({.parameters = of_chunk,
                                  .gradient = gradient == DataType::fp32 ? gradient : job_.reduce_type(),
                                  .parameter = job_.type(),
                                  .has_master = job_.type() != DataType::fp32}),
                Cause::optimizer, Phase::optimizer, std::span(&before, 1));
    if (!gathers_here) continue;
    for (std::size_t b = templates(c).buckets.size(); b-- > 0;)
      gather_parameters(templates(c).buckets[b], Phase::optimizer, update);
  }
}

}  // namespace warploom
