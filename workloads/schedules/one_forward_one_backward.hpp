// SPDX-License-Identifier: Apache-2.0
// 1F1B with flush: one forward and one backward in turn.
#pragma once

#include "workloads/schedules/schedule.hpp"

namespace warploom {

class OneForwardOneBackward final : public PipelineSchedule {
 public:
  std::optional<ScheduleProblem> problem(const ScheduleShape& shape) const override;
  std::vector<ScheduleStep> steps(const ScheduleShape& shape, int stage) const override;
};

}  // namespace warploom
