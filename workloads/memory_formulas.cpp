// SPDX-License-Identifier: Apache-2.0
// Published closed forms of training memory and time, each with its source in the header.
#include "workloads/memory_formulas.hpp"

#include "sim/core/errors.hpp"

namespace warploom {

double zero_bytes_a_parameter(int stage, std::int64_t data, const StateBytes& state) {
  WARPLOOM_CHECK(stage >= 0 && stage <= 3 && data >= 1, "ZeRO stage {} over {} ranks", stage, data);
  const auto ranks = static_cast<double>(data);
  const auto part = [&](int cut_from, double bytes) { return stage >= cut_from ? bytes / ranks : bytes; };
  return part(3, state.weights) + part(2, state.gradients) + part(1, state.optimizer);
}

double zero_relative_communication(int stage) { return stage >= 3 ? 1.5 : 1.0; }

double layer_activation_bytes(const LayerShape& shape, ActivationMode mode) {
  const double sbh = shape.sequence * shape.micro_batch * shape.hidden;
  const double t = shape.tensor;
  if (mode == ActivationMode::full) return 2 * sbh / (shape.sequence_parallel ? t : 1);
  const double scores = mode == ActivationMode::none ? 5 * shape.heads * shape.sequence / (shape.hidden * t) : 0;
  const double whole = shape.sequence_parallel ? 10 / t : 10;
  return sbh * (whole + 24 / t + scores);
}

double interleaved_activation_factor(double stages, double chunks) {
  return chunks > 1 ? 1 + (stages - 1) / (stages * chunks) : 1;
}

double bubble_over_ideal(double stages, double micro_batches, double chunks) {
  return (stages - 1) / (chunks * micro_batches);
}

double training_seconds(double parameters, double tokens, double devices, FlopRate peak, double mfu) {
  return 6 * parameters * tokens / (devices * peak.value() * mfu);
}

}  // namespace warploom
