// SPDX-License-Identifier: Apache-2.0
// Parameters of a rank and what a step is worth.
#include "workloads/training/training_job.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace warploom {

ChunkUnits units_of(const TrainingJob& job, const Chunk& chunk) {
  const Model& model = job.model;
  const std::int64_t t = job.layout.tensor;
  ChunkUnits units;
  units.layer = model.layer_parameters_a_rank(t);
  units.layers = chunk.layers;
  const std::int64_t table = model.vocab * model.hidden / t;
  if (chunk.has_embedding) units.embedding = table + model.position_parameters();
  if (chunk.has_head) {
    // Tied weights exist once where embedding and head share a chunk, else on both ends.
    const bool shares = model.has_tied_embeddings && job.layout.pipeline == 1;
    units.head = model.norm_parameters() + (shares ? 0 : table);
  }
  return units;
}

std::int64_t stage_parameters(const TrainingJob& job, const std::vector<Chunk>& chunks, std::int64_t stage) {
  std::int64_t sum = 0;
  for (std::int64_t c = 0; c < job.layout.virtual_stages; ++c) {
    sum += units_of(job, chunks[static_cast<std::size_t>(c * job.layout.pipeline + stage)]).total();
  }
  return sum;
}

double estimated_rows(const TrainingJob& job) {
  constexpr double rows_a_layer = 45;  // forward and backward; with full recomputation a third more
  constexpr double rows_a_chunk = 15;  // messages, embedding or head
  const auto stages = static_cast<double>(job.layout.pipeline);
  const auto chunks = stages * static_cast<double>(job.layout.virtual_stages);
  const double replica =
      job.micro_batches() * (static_cast<double>(job.model.layers) * rows_a_layer + chunks * rows_a_chunk);
  const double split = 1.0 + static_cast<double>(job.stragglers.size());
  const double alike = job.unfold ? static_cast<double>(job.layout.device_count()) / stages
                                  : std::min(split * split, static_cast<double>(job.layout.device_count()) / stages);
  return replica * alike;
}

// Forward and backward take 6 FLOPs a multiplied parameter and token; scores and values take 4 s' q FLOPs a token and
// layer forward (q the query width, s' the keys that a token sees: s, or half of it when causal), twice that backward.
Worth worth_of(const TrainingJob& job) {
  const Model& model = job.model;
  const TrainingSpec& training = job.training;
  const auto samples = static_cast<double>(training.global_batch);
  const auto tokens = samples * static_cast<double>(training.sequence_length);
  const auto n = static_cast<double>(model.multiplied_parameters());
  const double seen = training.flop_convention == FlopConvention::parameters         ? 0.0
                      : training.flop_convention == FlopConvention::attention_causal ? 0.5
                                                                                     : 1.0;
  const double attention_forward = 4 * seen * static_cast<double>(training.sequence_length * model.query_width());
  const auto layers = static_cast<double>(model.layers);
  const double model_flops = tokens * (6 * n + 3 * layers * attention_forward);
  double again = 0;
  if (training.recompute == Recompute::full) {
    const double cut = 2.0 * static_cast<double>(model.layer_parameters());
    again = tokens * layers * (cut + attention_forward);
  }
  Worth worth;
  worth.tokens = tokens;
  worth.samples = samples;
  worth.model_flops = Flops(model_flops);
  worth.hardware_flops = Flops(model_flops + again);
  const char* attention = training.flop_convention == FlopConvention::parameters ? "attention scores not counted"
                          : training.flop_convention == FlopConvention::attention_causal
                              ? "plus attention scores and values, causal half"
                              : "plus attention scores and values, full square";
  worth.flop_convention = fmt::format(
      "{}: 6 x N x tokens with N = {:.4g} (all parameters that a token is multiplied with: "
      "without the input embedding table), {}",
      enum_name(training.flop_convention), n, attention);
  return worth;
}

}  // namespace warploom
