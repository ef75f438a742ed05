// SPDX-License-Identifier: Apache-2.0
// What a pipeline schedule costs by itself: stages of equal, fixed times and messages that overlap everything.
#pragma once

#include "sim/core/units.hpp"
#include "workloads/schedules/schedule.hpp"

namespace warploom {

struct StageTimes {
  Time forward;   // of all chunks of a stage; a chunk takes 1/v of it
  Time backward;  // with the weight gradient
  Time message = Time::zero();
};

// The longest that a stage takes from its first step to its last. Throws UserError for a shape that the schedule does
// not have.
Time schedule_cost(const PipelineSchedule& schedule, const ScheduleShape& shape, const StageTimes& times);

}  // namespace warploom
