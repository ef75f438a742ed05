// SPDX-License-Identifier: Apache-2.0
// Schedules by themselves cost what their closed forms say.
#include <gtest/gtest.h>

#include "sim/core/errors.hpp"
#include "workloads/schedules/schedule_cost.hpp"
#include "workloads/schedules/schedules.hpp"

namespace warploom {
namespace {

Time cost(const char* schedule, const ScheduleShape& shape, Time message = Time::zero()) {
  const StageTimes times{Time::picoseconds(1200), Time::picoseconds(2400), message};
  return schedule_cost(*pipeline_schedules().make_named(schedule), shape, times);
}

TEST(ScheduleCost, OfEqualStagesIsWorkPlusBubble) {
  // A stage is idle for (p - 1)(F + B), between its own first and last step.
  EXPECT_EQ(cost("1f1b", {4, 12, 1}), Time::picoseconds(3600) * (12 + 3));
  EXPECT_EQ(cost("gpipe", {4, 12, 1}), Time::picoseconds(3600) * (12 + 3));
  EXPECT_EQ(cost("interleaved_1f1b", {4, 12, 3}), Time::picoseconds(3600) * 12 + Time::picoseconds(3600));
  EXPECT_EQ(cost("1f1b", {1, 5, 1}), Time::picoseconds(3600) * 5);
}

TEST(ScheduleCost, GrowsWithTheMessages) {
  EXPECT_GT(cost("1f1b", {4, 12, 1}, Time::picoseconds(100)), cost("1f1b", {4, 12, 1}));
}

TEST(ScheduleCost, RefusesWhatTheScheduleDoesNotHave) { EXPECT_THROW(cost("interleaved_1f1b", {4, 10, 2}), UserError); }

}  // namespace
}  // namespace warploom
