// SPDX-License-Identifier: Apache-2.0
// Small training jobs for tests, and a timer whose times follow from sizes by simple arithmetic.
#pragma once

#include <memory>

#include "sim/play/executor.hpp"
#include "tests/support/toy_machine.hpp"
#include "workloads/schedules/schedules.hpp"
#include "workloads/training/training_job.hpp"

namespace warploom::testing {

// A GPT: GELU, ffn = 4h, as many KV heads as heads, dropout: the published activation sums hold.
inline Model small_gpt(std::int64_t layers = 4) {
  Model model;
  model.name = "small";
  model.layers = layers;
  model.hidden = 512;
  model.heads = model.kv_heads = 8;
  model.head_dim = 64;
  model.ffn = 4 * 512;
  model.vocab = 1024;
  model.max_positions = 4096;
  model.is_gated = false;
  model.activation = "gelu";
  model.norm = NormKind::layer;
  model.positions = PositionKind::learned;
  model.has_dropout = true;
  return model;
}

inline Model small_llama(std::int64_t layers = 4) {
  Model model;
  model.name = "small";
  model.layers = layers;
  model.hidden = 512;
  model.heads = 8;
  model.kv_heads = 4;
  model.head_dim = 64;
  model.ffn = 1536;
  model.vocab = 1024;
  model.max_positions = 4096;
  return model;
}

struct JobShape {
  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;
  std::int64_t data = 1;
  std::int64_t virtual_stages = 1;
  int micro_batches = 1;
};

inline TrainingJob job_of(const Model& model, const JobShape& shape) {
  TrainingJob job;
  job.model = model;
  job.layout.tensor = shape.tensor;
  job.layout.pipeline = shape.pipeline;
  job.layout.data = shape.data;
  job.layout.virtual_stages = shape.virtual_stages;
  job.training.sequence_length = 256;
  job.training.micro_batch = 2;
  job.training.global_batch = 2 * shape.micro_batches * shape.data;
  job.training.bucket_parameters = 1;  // a bucket a unit
  job.schedule = pipeline_schedules().make_named(shape.virtual_stages > 1 ? "interleaved_1f1b" : "1f1b");
  return job;
}

// One picosecond for each 4,096 of the product of a kernel's sizes, and one: different kernels take different times.
class SizeTimer final : public KernelTimer {
 public:
  KernelCost cost(const Kernel& kernel) const override {
    double product = 1;
    for (const auto size : kernel.size) product *= size > 0 ? static_cast<double>(size) : 1;
    KernelCost cost;
    cost.duration = Time::picoseconds(1 + static_cast<std::int64_t>(product / 4096));
    cost.flops = Flops(product);
    return cost;
  }
};

inline Machine size_machine(WireSpec wire = {Time::picoseconds(1000), Bandwidth{1e12}}) {
  Machine machine = toy_machine(wire);
  machine.device_classes[0].timer = std::make_shared<SizeTimer>();
  return machine;
}

}  // namespace warploom::testing
