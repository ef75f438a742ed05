// SPDX-License-Identifier: Apache-2.0
// Reads a row, and makes the jobs that it may mean: layout and batch as the columns say, the rest by the framework's
// rules (training_rules.hpp).
#include "workloads/validation/training_row.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"
#include "workloads/schedules/schedules.hpp"
#include "workloads/validation/training_rules.hpp"

namespace warploom {

TrainingRow training_row(const CsvRow& row) {
  TrainingRow result;
  const auto text = [&](const char* column) { return std::string(row.optional_text(column).value_or("")); };
  result.task = text("task");
  result.hardware = text("hardware");
  result.interconnect = text("interconnect");
  result.framework = text("framework");
  result.model = text("model");
  result.precision = text("precision");
  result.zero = text("zero");
  result.recompute = text("recompute");
  result.sequence_parallel = text("seq_parallel");
  result.schedule = text("schedule");
  result.notes = text("notes");
  const auto number = [&](const char* column) { return row.optional_integer(column); };
  result.devices = number("gpus");
  result.layers = number("layers");
  result.hidden = number("hidden");
  result.heads = number("heads");
  result.kv_heads = number("kv_heads");
  result.ffn = number("ffn");
  result.vocab = number("vocab");
  result.experts = number("experts");
  result.sequence_length = number("seq_len");
  result.global_batch = number("global_batch");
  result.micro_batch = number("micro_batch");
  result.tensor = number("tp");
  result.pipeline = number("pp");
  result.virtual_stages = number("vpp");
  result.context = number("cp");
  result.data = number("dp");
  return result;
}

std::string TrainingMachine::key() const {
  return fmt::format("{} {} {} {}", device, cluster, join(device_overrides, " "), join(cluster_overrides, " "));
}

namespace {

std::int64_t needed(const std::optional<std::int64_t>& value, const char* what) {
  if (!value) throw UserError(fmt::format("{} is not published", what));
  if (*value < 1 || *value > 1'000'000'000) throw UserError(fmt::format("{} of {} is out of range", what, *value));
  return *value;
}

Model model_of(const TrainingRow& row, std::int64_t tensor) {
  const ModelRule rule = model_rule(row.model);
  Model model;
  model.name = row.model;
  model.layers = needed(row.layers, "the number of layers");
  model.hidden = needed(row.hidden, "the hidden size");
  model.heads = row.heads.value_or(std::max<std::int64_t>(1, model.hidden / 128));
  model.kv_heads = row.kv_heads.value_or(model.heads);
  if (model.heads < 1 || model.hidden % model.heads != 0) throw UserError("the heads do not divide the hidden size");
  model.head_dim = model.hidden / model.heads;
  model.ffn = row.ffn.value_or(4 * model.hidden);
  model.max_positions = needed(row.sequence_length, "the sequence length");
  model.is_gated = rule.is_gated;
  model.norm = rule.norm;
  model.positions = rule.positions;
  model.has_tied_embeddings = rule.has_tied_embeddings;
  model.has_qkv_bias = model.has_output_bias = model.has_mlp_bias = rule.has_biases;
  model.has_dropout = rule.has_dropout;
  // Megatron pads to 128 a tensor rank.
  const std::int64_t multiple = 128 * tensor;
  const std::int64_t vocabulary = row.vocab.value_or(rule.usual_vocabulary);
  model.vocab = (vocabulary + multiple - 1) / multiple * multiple;
  return model;
}

// The layers of the model where they do not divide: embedding and head count as one each, as publications with such
// numbers say (105 layers in 35 stages divide, 22 in 8 and 126 in 8 x 8 do not).
LayerSplit split_of(std::int64_t layers, std::int64_t chunks) {
  return layers % chunks == 0 ? LayerSplit::even : LayerSplit::count_embedding_and_head;
}

std::vector<std::int64_t> virtual_stages_of(const TrainingRow& row, std::int64_t layers, std::int64_t stages) {
  if (row.virtual_stages) return {std::max<std::int64_t>(1, *row.virtual_stages)};
  const bool says_interleaved = contains_without_case(row.schedule, "interleaved");
  if (stages == 1 || (!row.schedule.empty() && !says_interleaved)) return {1};
  std::vector<std::int64_t> open;
  for (std::int64_t v = 1; v * stages <= layers + 2; ++v) {
    if (layers % (v * stages) == 0 || (layers + 2) % (v * stages) == 0) open.push_back(v);
  }
  return open;
}

// Left open beside a published interleaving it is 1: interleaving is for steps with few micro-batches.
std::vector<std::int64_t> micro_batches_of(const TrainingRow& row, std::int64_t samples) {
  if (row.micro_batch) return {needed(row.micro_batch, "the micro-batch")};
  if (row.virtual_stages) return {1};
  std::vector<std::int64_t> open;
  for (std::int64_t size = 1; size <= 32 && size <= samples; size *= 2) {
    if (samples % size == 0) open.push_back(size);
  }
  return open;
}

// Whether it can run; fills in the schedule.
std::optional<std::string> problem_of(TrainingJob& job, std::int64_t devices) {
  const LayoutNeeds needs{devices, 8, job.training.global_batch, job.training.micro_batch};
  for (const auto& problem : resolve_layout(job.layout, job.model, needs)) {
    if (!problem.is_warning) return problem.message;
  }
  const std::int64_t sharing = job.layout.context * (job.layout.cuts_sequence() ? job.layout.tensor : 1);
  if (job.training.sequence_length % sharing != 0) return "the ranks that share the sequence do not divide it";
  job.schedule = pipeline_schedules().make_named(job.layout.virtual_stages > 1 ? "interleaved_1f1b" : "1f1b");
  const ScheduleShape shape{static_cast<int>(job.layout.pipeline), job.micro_batches(),
                            static_cast<int>(job.layout.virtual_stages)};
  if (const auto problem = job.schedule->problem(shape)) return problem->message;
  if (estimated_rows(job) > 2e7) return "more operations than are simulated";
  return std::nullopt;
}

}  // namespace

TrainingCases training_cases(const TrainingRow& row) {
  refuse_what_is_not_modelled(row);
  TrainingCases result;
  result.machine = training_machine(row);
  TrainingJob job;
  const std::int64_t devices = needed(row.devices, "the number of devices");
  job.layout.tensor = needed(row.tensor, "the tensor-parallel size");
  job.layout.pipeline = needed(row.pipeline, "the number of pipeline stages");
  job.layout.context = row.context.value_or(1);
  job.layout.data = row.data;
  job.model = model_of(row, job.layout.tensor);
  job.training.sequence_length = needed(row.sequence_length, "the sequence length");
  job.training.global_batch = needed(row.global_batch, "the global batch");
  apply_rules(row, job);
  const std::int64_t replica = job.layout.tensor * job.layout.pipeline * job.layout.context;
  const std::int64_t replicas = row.data.value_or(std::max<std::int64_t>(1, devices / replica));
  std::string reason = "no setting can run";
  for (const std::int64_t micro_batch : micro_batches_of(row, job.training.global_batch / replicas)) {
    for (const std::int64_t v : virtual_stages_of(row, job.model.layers, job.layout.pipeline)) {
      TrainingJob chosen = job;
      chosen.training.micro_batch = micro_batch;
      chosen.layout.virtual_stages = v;
      chosen.layout.layer_split = split_of(job.model.layers, v * job.layout.pipeline);
      if (const auto problem = problem_of(chosen, devices)) {
        reason = *problem;
      } else {
        result.jobs.push_back(std::move(chosen));
      }
    }
  }
  if (result.jobs.empty()) throw UserError(reason);
  return result;
}

}  // namespace warploom
