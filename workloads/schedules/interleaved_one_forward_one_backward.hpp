// SPDX-License-Identifier: Apache-2.0
// 1F1B over several model chunks a stage.
#pragma once

#include "workloads/schedules/schedule.hpp"

namespace warploom {

class InterleavedOneForwardOneBackward final : public PipelineSchedule {
 public:
  std::optional<ScheduleProblem> problem(const ScheduleShape& shape) const override;
  std::vector<ScheduleStep> steps(const ScheduleShape& shape, int stage) const override;
};

}  // namespace warploom
