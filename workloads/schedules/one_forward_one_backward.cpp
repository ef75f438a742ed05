// SPDX-License-Identifier: Apache-2.0
// 1F1B with flush (PipeDream-flush, DAPPLE; arXiv:2104.04473, section 2.2.1): stage i runs min(p - 1 - i, m) forwards,
// then one forward and one backward in turn, then the remaining backwards. Bubble (p - 1)(F + B), at equal stages and
// no communication time (p - 1)/m of ideal; stage i keeps at most min(p - i, m) micro-batches.
#include "workloads/schedules/one_forward_one_backward.hpp"

#include <algorithm>

#include "workloads/schedules/steps_from_warm_up.hpp"

namespace warploom {

std::optional<ScheduleProblem> OneForwardOneBackward::problem(const ScheduleShape& shape) const {
  if (shape.chunks == 1) return std::nullopt;
  return ScheduleProblem{"`1f1b` has one model chunk a stage",
                         "set virtual_stages to 1, or the schedule to interleaved_1f1b"};
}

std::vector<ScheduleStep> OneForwardOneBackward::steps(const ScheduleShape& shape, int stage) const {
  return steps_from_warm_up(
      shape.micro_batches, std::min(shape.stages - 1 - stage, shape.micro_batches),
      [](int k) { return ScheduleStep{true, k, 0}; }, [](int k) { return ScheduleStep{false, k, 0}; });
}

}  // namespace warploom
