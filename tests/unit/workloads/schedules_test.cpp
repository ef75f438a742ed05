// SPDX-License-Identifier: Apache-2.0
// Pipeline schedules: forward before backward, everything once, memory bounds, bubble formulas (A9) on the real
// executor.
#include "workloads/schedules/schedules.hpp"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/pipeline_program.hpp"
#include "workloads/memory_formulas.hpp"

namespace warploom {
namespace {

using namespace warploom::literals;
using testing::PipelineProgram;

struct Case {
  const char* schedule;
  ScheduleShape shape;
};

// All schedules over shapes that they accept.
std::vector<Case> cases() {
  std::vector<Case> all;
  static const auto schedules = pipeline_schedules();
  for (const auto& kind : schedules.kinds()) {
    const auto schedule = schedules.make_named(kind.name);
    for (const int p : {1, 2, 3, 4, 8}) {
      for (const int m : {1, 2, 3, 4, 8, 12, 16, 24}) {
        for (const int v : {1, 2, 3, 4}) {
          const ScheduleShape shape{p, m, v};
          if (!schedule->problem(shape)) all.push_back({kind.name.c_str(), shape});
        }
      }
    }
  }
  return all;
}

std::string text(const Case& c, int stage) {
  return std::string(c.schedule) + " p " + std::to_string(c.shape.stages) + " m " +
         std::to_string(c.shape.micro_batches) + " v " + std::to_string(c.shape.chunks) + " stage " +
         std::to_string(stage);
}

// The most chunk activations alive at once on a stage.
int peak_alive(const std::vector<ScheduleStep>& steps) {
  int alive = 0;
  int peak = 0;
  for (const auto& step : steps) peak = std::max(peak, alive += step.is_forward ? 1 : -1);
  return peak;
}

TEST(Schedules, RunEveryMicroBatchOfEveryChunkOnceForwardAndThenOnceBackward) {
  for (const auto& c : cases()) {
    const auto schedule = pipeline_schedules().make_named(c.schedule);
    for (int stage = 0; stage < c.shape.stages; ++stage) {
      std::set<std::pair<int, int>> forward;
      std::set<std::pair<int, int>> backward;
      for (const auto& step : schedule->steps(c.shape, stage)) {
        const std::pair place{step.micro_batch, step.chunk};
        ASSERT_TRUE(step.micro_batch >= 0 && step.micro_batch < c.shape.micro_batches && step.chunk >= 0 &&
                    step.chunk < c.shape.chunks);
        ASSERT_TRUE((step.is_forward ? forward : backward).insert(place).second) << text(c, stage);
        if (!step.is_forward) {
          ASSERT_TRUE(forward.contains(place)) << text(c, stage);
        }
      }
      const auto all = static_cast<std::size_t>(c.shape.micro_batches) * static_cast<std::size_t>(c.shape.chunks);
      ASSERT_EQ(forward.size(), all) << text(c, stage);
      ASSERT_EQ(backward.size(), all) << text(c, stage);
    }
  }
}

TEST(Schedules, EndOnTheExecutorWithoutDeadlock) {
  for (const auto& c : cases()) {
    const auto schedule = pipeline_schedules().make_named(c.schedule);
    EXPECT_GT(PipelineProgram(*schedule, c.shape, {2_us, 4_us, 1_us}).cost(), Time::zero()) << text(c, 0);
  }
}

TEST(OneForwardOneBackward, KeepsPMinusIMicroBatchesOnStageI) {
  const auto schedule = pipeline_schedules().make_named("1f1b");
  for (const int m : {2, 4, 16}) {
    for (int stage = 0; stage < 4; ++stage) {
      EXPECT_EQ(peak_alive(schedule->steps({4, m, 1}, stage)), std::min(4 - stage, m));
    }
  }
}

TEST(InterleavedOneForwardOneBackward, KeepsThePublishedMultipleOfActivationsOnTheFirstStage) {
  const auto schedule = pipeline_schedules().make_named("interleaved_1f1b");
  for (const int p : {2, 4, 8}) {
    for (const int v : {2, 3, 4}) {
      const int chunks_alive = peak_alive(schedule->steps({p, 4 * p, v}, 0));
      // p micro-batches of v chunks, times 1 + (p - 1)/(p v).
      EXPECT_DOUBLE_EQ(chunks_alive, p * v * interleaved_activation_factor(p, v)) << p << " " << v;
    }
  }
}

TEST(GPipe, KeepsAllMicroBatches) {
  EXPECT_EQ(peak_alive(pipeline_schedules().make_named("gpipe")->steps({4, 16, 1}, 0)), 16);
}

TEST(Schedules, LeaveTheBubbleOfTheFormula) {
  for (const auto& c : cases()) {
    const auto& [p, m, v] = c.shape;
    if (m % p != 0) continue;
    const auto schedule = pipeline_schedules().make_named(c.schedule);
    const Time forward = 12_us;
    const Time backward = 24_us;
    const Time ideal = m * (forward + backward);
    const Time cost = PipelineProgram(*schedule, c.shape, {forward, backward}).cost();
    EXPECT_DOUBLE_EQ((cost - ideal) / ideal, bubble_over_ideal(p, m, v)) << text(c, 0);
  }
}

TEST(Schedules, RefuseShapesWithWhatWouldWork) {
  const auto schedules = pipeline_schedules();
  const auto interleaved = schedules.make_named("interleaved_1f1b")->problem({4, 10, 2});
  ASSERT_TRUE(interleaved);
  EXPECT_EQ(interleaved->hint, "8 or 12 micro-batches would work");
  EXPECT_EQ(schedules.make_named("interleaved_1f1b")->problem({4, 2, 2})->hint, "4 micro-batches would work");
  EXPECT_TRUE(schedules.make_named("1f1b")->problem({4, 8, 2}));
  EXPECT_TRUE(schedules.make_named("gpipe")->problem({4, 8, 2}));
  EXPECT_FALSE(schedules.make_named("1f1b")->problem({4, 3, 1}));
}

}  // namespace
}  // namespace warploom
