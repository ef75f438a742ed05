// SPDX-License-Identifier: Apache-2.0
// The list of pipeline schedules.
#pragma once

#include "sim/core/registry.hpp"
#include "workloads/schedules/schedule.hpp"

namespace warploom {

Registry<PipelineSchedule> pipeline_schedules();

}  // namespace warploom
