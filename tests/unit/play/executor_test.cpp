// SPDX-License-Identifier: Apache-2.0
// Playing programs whose every time is known: order, meetings, hosts, sharing, deadlock.
#include "sim/play/executor.hpp"

#include <gtest/gtest.h>

#include "sim/core/errors.hpp"
#include "tests/support/toy_machine.hpp"

namespace warploom {
namespace {

using namespace warploom::literals;
using testing::toy_machine;
using testing::ToyProgram;
using testing::WireSpec;

TEST(Executor, RunsAStreamInOrderAndWaitsForDependencies) {
  ToyProgram toy(2);
  const RowId a = toy.kernel(0, 3_us);
  const RowId b = toy.kernel(0, 2_us);
  const RowId c = toy.kernel(1, 1_us, {b});
  const auto timeline = play(toy.program, toy_machine());
  EXPECT_EQ(timeline.end[a], 3_us);
  EXPECT_EQ(timeline.begin[b], 3_us);
  EXPECT_EQ(timeline.begin[c], 5_us);
  EXPECT_EQ(timeline.released_by[c], b);
  EXPECT_EQ(timeline.makespan, 6_us);
}

TEST(Executor, BeginsAMeetingWhenTheLastPartyIsReadyAndEndsItForAll) {
  ToyProgram toy(2);
  toy.kernel(0, 3_us);
  const RowId late = toy.kernel(1, 5_us);
  const auto meeting = toy.meeting(1_MB, 2);
  const RowId first = toy.meet(0, meeting, OperationKind::collective, {0});
  const RowId last = toy.meet(1, meeting, OperationKind::collective, {late});
  const auto timeline = play(toy.program, toy_machine(WireSpec{2_us, Bandwidth{1e12}}));
  EXPECT_EQ(timeline.ready[first], 3_us);
  EXPECT_EQ(timeline.begin[first], 5_us);
  EXPECT_EQ(timeline.last_party[first], last);
  EXPECT_EQ(timeline.end[first], 5_us + 2_us + 1_us);  // latency, then 1 MB at 1 TB/s
  EXPECT_EQ(timeline.end[last], timeline.end[first]);
}

TEST(Executor, SlowsAStragglersKernels) {
  ToyProgram toy(1);
  toy.program.roles[0].slow_down = 1.2;
  toy.kernel(0, 10_us);
  EXPECT_EQ(play(toy.program, toy_machine()).makespan, 12_us);
}

TEST(Executor, LaunchesNoFasterThanTheHostDoes) {
  ToyProgram toy(1);
  toy.program.roles[0].launch = 5_us;
  toy.kernel(0, 1_us);
  const RowId second = toy.kernel(0, 1_us);
  const auto timeline = play(toy.program, toy_machine());
  EXPECT_EQ(timeline.begin[0], 5_us);
  EXPECT_EQ(timeline.begin[second], 10_us);
  EXPECT_EQ(timeline.release[second], Release::host);
}

TEST(Executor, MakesTheHostWaitAtASynchronisationAndLaunchLaterRowsAfterIt) {
  ToyProgram toy(1);
  toy.program.roles[0].launch = 1_us;
  const RowId kernel = toy.kernel(0, 10_us);
  const StreamId host = toy.program.add_stream({0, StreamKind::host, "host"});
  Operation sync;
  sync.kind = OperationKind::host;
  sync.stream = host;
  sync.cause = Cause::host;
  sync.duration = 4_us;
  const RowId row = toy.program.add(sync, std::vector<RowId>{kernel});
  const RowId after = toy.kernel(0, 1_us);
  const auto timeline = play(toy.program, toy_machine());
  EXPECT_EQ(timeline.begin[row], 11_us);
  EXPECT_EQ(timeline.released_by[row], kernel);
  EXPECT_EQ(timeline.end[row], 15_us);
  EXPECT_EQ(timeline.begin[after], 16_us);
  EXPECT_EQ(timeline.released_by[after], row);
}

TEST(Executor, StretchesAKernelOnlyWhileACallHoldsSms) {
  ToyProgram toy(1);
  const RowId kernel = toy.kernel(0, 10_us);
  const auto meeting = toy.meeting(2_MB, 1);
  const RowId call = toy.meet(0, meeting, OperationKind::collective);
  // 2 us at 3/4 speed, the rest at full speed: 10 + 2 * (1 - 3/4) us.
  const auto timeline = play(toy.program, toy_machine(WireSpec{Time::zero(), Bandwidth{1e12}, 25}));
  EXPECT_EQ(timeline.end[call], 2_us);
  EXPECT_EQ(timeline.end[kernel], 10_us + 500_ns);
  EXPECT_EQ(timeline.alone[kernel], 10_us);
}

TEST(Executor, EndsAFusedRowWithTheLaterOfKernelAndCall) {
  ToyProgram toy(1);
  Operation fused;
  fused.kind = OperationKind::fused;
  fused.stream = toy.compute[0];
  fused.kernel = toy.program.add_kernel(testing::fixed_kernel(3_us));
  fused.meeting = toy.meeting(5_MB, 1);
  const RowId row = toy.program.add(fused);
  const auto timeline = play(toy.program, toy_machine());
  EXPECT_EQ(timeline.end[row], 5_us);
  EXPECT_EQ(timeline.alone[row], 3_us);
}

TEST(Executor, NamesTheRowsOfAProgramThatCannotEnd) {
  ToyProgram toy(2);
  const auto a = toy.meeting(1_kB, 2);
  const auto b = toy.meeting(1_kB, 2);
  toy.meet(0, a, OperationKind::collective);
  toy.meet(0, b, OperationKind::collective);
  toy.meet(1, b, OperationKind::collective);
  toy.meet(1, a, OperationKind::collective);
  try {
    play(toy.program, toy_machine());
    FAIL() << "played a deadlock";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("cannot end"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("role1"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("1 of 2 have come"), std::string::npos);
  }
}

TEST(Executor, GivesTheSameTimelineTwice) {
  ToyProgram toy(3);
  for (int i = 0; i < 50; ++i) {
    const auto meeting = toy.meeting(Bytes{1000 + 37 * i}, 3);
    for (RoleId role = 0; role < 3; ++role) {
      const RowId kernel = toy.kernel(role, Time::picoseconds(1000 * (1 + (i * 7 + role * 13) % 11)));
      toy.meet(role, meeting, OperationKind::collective, {kernel});
    }
  }
  const auto machine = toy_machine(WireSpec{10_ns, Bandwidth{1e11}, 10, 1.0});
  const auto first = play(toy.program, machine);
  const auto second = play(toy.program, machine);
  EXPECT_EQ(first.begin, second.begin);
  EXPECT_EQ(first.end, second.end);
}

}  // namespace
}  // namespace warploom
