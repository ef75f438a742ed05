// SPDX-License-Identifier: Apache-2.0
// GPipe (arXiv:1811.06965): all forwards, then all backwards. Bubble as 1F1B's, (p - 1)/m of ideal; every stage keeps
// all m micro-batches.
#include "workloads/schedules/gpipe.hpp"

#include "workloads/schedules/steps_from_warm_up.hpp"

namespace warploom {

std::optional<ScheduleProblem> GPipe::problem(const ScheduleShape& shape) const {
  if (shape.chunks == 1) return std::nullopt;
  return ScheduleProblem{"`gpipe` has one model chunk a stage",
                         "set virtual_stages to 1, or the schedule to interleaved_1f1b"};
}

std::vector<ScheduleStep> GPipe::steps(const ScheduleShape& shape, int) const {
  return steps_from_warm_up(
      shape.micro_batches, shape.micro_batches, [](int k) { return ScheduleStep{true, k, 0}; },
      [](int k) { return ScheduleStep{false, k, 0}; });
}

}  // namespace warploom
