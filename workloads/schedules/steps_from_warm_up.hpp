// SPDX-License-Identifier: Apache-2.0
// The common shape of flushing schedules: some forwards first, then one forward and one backward in turn, then the
// rest.
#pragma once

#include <vector>

#include "workloads/schedules/schedule.hpp"

namespace warploom {

// `forward(k)` and `backward(k)` name the k-th of `count` steps of each direction.
template <class Forward, class Backward>
std::vector<ScheduleStep> steps_from_warm_up(int count, int warm_up, Forward forward, Backward backward) {
  std::vector<ScheduleStep> steps;
  steps.reserve(2 * static_cast<std::size_t>(count));
  for (int k = 0; k < warm_up; ++k) steps.push_back(forward(k));
  for (int k = warm_up; k < count; ++k) {
    steps.push_back(forward(k));
    steps.push_back(backward(k - warm_up));
  }
  for (int k = count - warm_up; k < count; ++k) steps.push_back(backward(k));
  return steps;
}

}  // namespace warploom
