// SPDX-License-Identifier: Apache-2.0
// GPipe: all forwards, then all backwards.
#pragma once

#include "workloads/schedules/schedule.hpp"

namespace warploom {

class GPipe final : public PipelineSchedule {
 public:
  std::optional<ScheduleProblem> problem(const ScheduleShape& shape) const override;
  std::vector<ScheduleStep> steps(const ScheduleShape& shape, int stage) const override;
};

}  // namespace warploom
