// SPDX-License-Identifier: Apache-2.0
// What the program of a training step adds up to.
#pragma once

#include "sim/work/program.hpp"
#include "workloads/training/training_step.hpp"

namespace warploom::testing {

// FLOPs of matrix products over all devices: of those done again, or of the others.
inline double gemm_flops(const Program& program, bool recomputed) {
  double sum = 0;
  for (RowId row = 0; row < program.size(); ++row) {
    if (program.kernel[row] == none || (program.cause[row] == Cause::recompute) != recomputed) continue;
    const Kernel& kernel = program.kernels[program.kernel[row]];
    if (kernel.family != "gemm") continue;
    double product = 2 * static_cast<double>(program.roles[program.role_of(row)].device_count());
    for (const auto size : kernel.size) product *= size > 0 ? static_cast<double>(size) : 1;
    sum += product;
  }
  return sum;
}

inline double all_gemm_flops(const Program& program) { return gemm_flops(program, false) + gemm_flops(program, true); }

inline std::int64_t forward_activations(const Program& program) {
  std::int64_t sum = 0;
  for (RowId row = 0; row < program.size(); ++row) {
    if (program.phase[row] != Phase::forward) continue;
    for (const auto& delta : program.memory_deltas(row)) sum += delta.part == MemoryPart::activations ? delta.bytes : 0;
  }
  return sum;
}

// What one more layer keeps from forward to backward on a rank.
inline std::int64_t kept_a_layer(TrainingJob job) {
  job.model.layers = 1;
  const std::int64_t one = forward_activations(build_training_step(job));
  job.model.layers = 2;
  return forward_activations(build_training_step(job)) - one;
}

}  // namespace warploom::testing
