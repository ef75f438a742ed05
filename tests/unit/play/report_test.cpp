// SPDX-License-Identifier: Apache-2.0
// The report's numbers: means over devices, rates, and the bubble of 1F1B.
#include "sim/play/report.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "sim/play/executor.hpp"
#include "tests/support/hand_timeline.hpp"
#include "tests/support/toy_machine.hpp"

namespace warploom {
namespace {

using namespace warploom::literals;
using testing::HandTimeline;
using testing::toy_machine;

double seconds(const Report& report, Cause cause) { return report.seconds[static_cast<std::size_t>(cause)]; }

TEST(Report, WeighsRolesByTheirDevicesAndAddsUpToTheStep) {
  HandTimeline hand(2);
  hand.program.roles[0].ranks = {RankBox{0, {{3, 1}}}};
  hand.program.roles[1].ranks = {RankBox{3, {{4, 1}}}};
  hand.kernel(0, {0_us, 10_us});
  hand.kernel(1, {.begin = 0_us, .end = 7_us, .alone = 5_us}, Cause::attention);
  const auto report = make_report(hand.program, toy_machine(), hand.timeline);
  EXPECT_EQ(report.devices, 7);
  EXPECT_DOUBLE_EQ(seconds(report, Cause::gemm), 10e-6 * 3 / 7);
  EXPECT_DOUBLE_EQ(seconds(report, Cause::attention), 5e-6 * 4 / 7);
  EXPECT_DOUBLE_EQ(seconds(report, Cause::interference), 2e-6 * 4 / 7);
  EXPECT_DOUBLE_EQ(seconds(report, Cause::idle), 3e-6 * 4 / 7);
  EXPECT_NEAR(std::accumulate(report.seconds.begin(), report.seconds.end(), 0.0), 10e-6, 1e-20);
}

TEST(Report, CountsTokensAndFlopsByTheStepAndUtilisationByThePeak) {
  HandTimeline hand(1, 4);
  hand.kernel(0, {Time::zero(), 2_s});
  hand.program.worth = {.tokens = 1000,
                        .samples = 1,
                        .model_flops = Flops(4e12),
                        .hardware_flops = Flops(5e12),
                        .flop_convention = "6ND"};
  const auto report = make_report(hand.program, toy_machine(), hand.timeline);  // of 1 TFLOP/s devices
  EXPECT_DOUBLE_EQ(report.tokens_per_s, 500);
  EXPECT_DOUBLE_EQ(report.tokens_per_s_per_device, 125);
  EXPECT_DOUBLE_EQ(report.tflops_per_device, 0.5);
  EXPECT_DOUBLE_EQ(report.mfu, 0.5);
  EXPECT_DOUBLE_EQ(report.hfu, 0.625);
  EXPECT_EQ(report.flop_convention, "6ND");
}

TEST(Report, SaysWhetherFoldsWereExact) {
  HandTimeline hand(1);
  hand.kernel(0, {0_us, 1_us});
  EXPECT_EQ(make_report(hand.program, toy_machine(), hand.timeline).folding, "exact");
  hand.timeline.members_alike = false;
  EXPECT_EQ(make_report(hand.program, toy_machine(), hand.timeline).folding, "slowest_member");
}

TEST(Report, OfAnEmptyProgramIsZeroNotNaN) {
  const auto report = make_report(Program{}, toy_machine(), Timeline{});
  EXPECT_EQ(report.mfu, 0);
  EXPECT_EQ(report.tokens_per_s, 0);
  EXPECT_EQ(report.bubble_over_ideal, 0);
  EXPECT_TRUE(report.fits);
}

// 1F1B of equal stages: forward f, backward b, messages that take no time.
Program one_forward_one_backward(std::uint32_t stages, std::uint32_t micro_batches, Time f, Time b) {
  testing::ToyProgram toy(stages);
  Program& program = toy.program;
  const auto stream = [&](RoleId role, const char* name) {
    return program.add_stream({role, StreamKind::communication, name});
  };
  std::vector<std::vector<StreamId>> streams;
  for (RoleId stage = 0; stage < stages; ++stage) {
    streams.push_back({stream(stage, "to next"), stream(stage, "from next"), stream(stage, "to previous"),
                       stream(stage, "from previous")});
  }
  std::vector<std::vector<MeetingId>> down(stages), up(stages);  // across the boundary after a stage
  for (RoleId stage = 0; stage + 1 < stages; ++stage) {
    for (std::uint32_t i = 0; i < micro_batches; ++i) {
      down[stage].push_back(toy.meeting(Bytes(0), 2, CollectiveKind::send_recv));
      up[stage].push_back(toy.meeting(Bytes(0), 2, CollectiveKind::send_recv));
    }
  }
  const auto meet = [&](RoleId stage, std::size_t which, OperationKind kind, MeetingId meeting,
                        std::vector<RowId> after) {
    Operation row;
    row.kind = kind;
    row.stream = streams[stage][which];
    row.cause = Cause::exposed_pp;
    row.meeting = meeting;
    return program.add(row, after);
  };
  const auto work = [&](RoleId stage, std::uint32_t i, bool forward) {
    std::vector<RowId> after;
    if (forward && stage > 0) after.push_back(meet(stage, 3, OperationKind::recv, down[stage - 1][i], {}));
    if (!forward && stage + 1 < stages) after.push_back(meet(stage, 1, OperationKind::recv, up[stage][i], {}));
    const RowId kernel = toy.kernel(stage, forward ? f : b, after);
    if (forward && stage + 1 < stages) meet(stage, 0, OperationKind::send, down[stage][i], {kernel});
    if (!forward && stage > 0) meet(stage, 2, OperationKind::send, up[stage - 1][i], {kernel});
  };
  for (RoleId stage = 0; stage < stages; ++stage) {
    const std::uint32_t ahead = std::min(stages - stage, micro_batches);
    for (std::uint32_t i = 0; i < ahead; ++i) work(stage, i, true);
    for (std::uint32_t i = 0; i < micro_batches; ++i) {
      work(stage, i, false);
      if (i + ahead < micro_batches) work(stage, i + ahead, true);
    }
  }
  return program;
}

TEST(Report, FindsTheBubbleOfOneForwardOneBackward) {
  for (const auto& [stages, micro_batches] : {std::pair{1U, 3U}, {2U, 4U}, {4U, 4U}, {4U, 12U}, {8U, 64U}}) {
    const auto program = one_forward_one_backward(stages, micro_batches, 3_us, 5_us);
    const auto report = make_report(program, toy_machine(), play(program, toy_machine()));
    EXPECT_EQ(report.step_time, 8_us * (micro_batches + stages - 1));
    EXPECT_DOUBLE_EQ(report.bubble_over_ideal, (stages - 1.0) / micro_batches);
    EXPECT_DOUBLE_EQ(report.bubble_share, (stages - 1.0) / (micro_batches + stages - 1));
    EXPECT_EQ(report.exposed_comm_share, 0);
  }
}

TEST(Report, AddsTheCriticalPathUpToTheStep) {
  const auto program = one_forward_one_backward(4, 8, 3_us, 5_us);
  const auto report = make_report(program, toy_machine(), play(program, toy_machine()));
  const auto& by_cause = report.critical_path_by_cause;
  EXPECT_EQ(std::accumulate(by_cause.begin(), by_cause.end(), Time::zero()), report.step_time);
  EXPECT_EQ(by_cause[static_cast<std::size_t>(Cause::gemm)], report.step_time);  // nobody on the path waits
}

}  // namespace
}  // namespace warploom
