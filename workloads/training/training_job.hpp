// SPDX-License-Identifier: Apache-2.0
// A training step with everything decided, and the numbers of one rank that follow from it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/work/program.hpp"
#include "workloads/layout.hpp"
#include "workloads/models/model.hpp"
#include "workloads/schedules/schedule.hpp"
#include "workloads/training/training_spec.hpp"

namespace warploom {

struct Straggler {
  Rank device = 0;
  double slow_down = 1;

  static auto fields() {
    return field_list(
        field("device", &Straggler::device, "its rank").in(0, 10'000'000),
        field("slow_down", &Straggler::slow_down, "every kernel takes this many times as long (1.2: 20% slow)")
            .in(1, 1'000));
  }
};

struct TrainingJob {
  Model model;    // with its padded vocabulary
  Layout layout;  // resolved: `data` is set
  TrainingSpec training;
  std::shared_ptr<const PipelineSchedule> schedule;
  std::vector<Straggler> stragglers;
  Time launch = Time::zero();  // host time to launch one operation
  bool unfold = false;

  std::int64_t data() const { return layout.data.value_or(1); }
  // Ranks with the same parameters: context-parallel ones, too.
  std::int64_t replicas() const { return data() * layout.context; }
  int micro_batches() const { return static_cast<int>(training.global_batch / (data() * training.micro_batch)); }
  // Of a rank: context-parallel ranks share the sequence.
  std::int64_t tokens_a_micro_batch() const { return training.micro_batch * training.sequence_length / layout.context; }
  DataType type() const { return data_type(training.types.compute); }
  DataType product_type() const { return training.types.product_type(); }
  DataType gradient_type() const { return data_type(training.types.gradient); }
  DataType reduce_type() const { return data_type(training.types.gradient_reduce); }
  // FP32 copy (unless the weights are FP32 themselves), momentum and variance.
  std::int64_t optimizer_bytes_a_parameter() const { return type() == DataType::fp32 ? 8 : 12; }
};

// Parameters of a chunk on one rank, unit by unit in the order of the forward pass: embedding, layers, head.
struct ChunkUnits {
  std::int64_t embedding = 0;  // with learned positions
  std::int64_t layer = 0;      // each
  std::int64_t layers = 0;
  std::int64_t head = 0;  // with the final norm
  std::int64_t total() const { return embedding + layers * layer + head; }
};
ChunkUnits units_of(const TrainingJob& job, const Chunk& chunk);

// Parameters of all chunks of a stage on one rank.
std::int64_t stage_parameters(const TrainingJob& job, const std::vector<Chunk>& chunks, std::int64_t stage);

// Tokens, model FLOPs and hardware FLOPs of the step, with the convention in words.
Worth worth_of(const TrainingJob& job);

// How many rows its program has, roughly: to refuse what no memory holds before it is built.
double estimated_rows(const TrainingJob& job);

// The program of one step: one role for all devices that do the same.
Program build_training_step(const TrainingJob& job);

}  // namespace warploom
