// SPDX-License-Identifier: Apache-2.0
// The list of pipeline schedules.
#include "workloads/schedules/schedules.hpp"

#include "workloads/schedules/gpipe.hpp"
#include "workloads/schedules/interleaved_one_forward_one_backward.hpp"
#include "workloads/schedules/one_forward_one_backward.hpp"

namespace warploom {

Registry<PipelineSchedule> pipeline_schedules() {
  Registry<PipelineSchedule> r;
  r.add<OneForwardOneBackward>("1f1b", "one forward and one backward in turn, with a flush");
  r.add<InterleavedOneForwardOneBackward>("interleaved_1f1b", "1F1B over several model chunks a stage");
  r.add<GPipe>("gpipe", "all forwards, then all backwards");
  return r;
}

}  // namespace warploom
