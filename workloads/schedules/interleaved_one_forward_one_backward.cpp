// SPDX-License-Identifier: Apache-2.0
// Interleaved 1F1B (arXiv:2104.04473, section 2.2.2; Megatron-LM): each stage holds v chunks of the model and runs
// groups of p micro-batches through one chunk after the other. Stage i starts with 2 (p - 1 - i) + (v - 1) p forwards
// of chunks. Bubble (p - 1)(F + B) / v, at equal stages and no communication time (p - 1)/(v m) of ideal; the first
// stage keeps 1 + (p - 1)/(p v) times the activations of 1F1B (arXiv:2205.05198). Needs m mod p = 0.
#include "workloads/schedules/interleaved_one_forward_one_backward.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "workloads/schedules/steps_from_warm_up.hpp"

namespace warploom {

std::optional<ScheduleProblem> InterleavedOneForwardOneBackward::problem(const ScheduleShape& shape) const {
  const int p = shape.stages;
  const int m = shape.micro_batches;
  if (p == 1 && shape.chunks > 1) {
    return ScheduleProblem{"virtual stages need more than one pipeline stage", "set virtual_stages to 1"};
  }
  if (m % p == 0) return std::nullopt;
  const int below = m / p * p;
  return ScheduleProblem{
      fmt::format("`interleaved_1f1b` needs the micro-batches a multiple of the pipeline stages: {} of {}", m, p),
      below > 0 ? fmt::format("{} or {} micro-batches would work", below, below + p)
                : fmt::format("{} micro-batches would work", p)};
}

std::vector<ScheduleStep> InterleavedOneForwardOneBackward::steps(const ScheduleShape& shape, int stage) const {
  const int p = shape.stages;
  const int v = shape.chunks;
  const int count = shape.micro_batches * v;
  const int warm_up = std::min(count, 2 * (p - 1 - stage) + (v - 1) * p);
  const auto step = [&](bool is_forward, int k) {
    const int chunk = k % (p * v) / p;
    return ScheduleStep{is_forward, k / (p * v) * p + k % p, is_forward ? chunk : v - 1 - chunk};
  };
  return steps_from_warm_up(
      count, warm_up, [&](int k) { return step(true, k); }, [&](int k) { return step(false, k); });
}

}  // namespace warploom
