// SPDX-License-Identifier: Apache-2.0
// Rows whose duration was recorded: they take it, after the lags of what they wait for, and explain themselves.
#include <gtest/gtest.h>

#include <numeric>

#include "sim/play/breakdown.hpp"
#include "sim/play/critical_path.hpp"
#include "sim/play/executor.hpp"

namespace warploom {
namespace {

Machine no_machine() {
  Machine machine;
  machine.device_classes.emplace_back();
  return machine;
}

// Two ranks, each a host thread and a stream.
class Recorded : public testing::Test {
 protected:
  Recorded() {
    for (Rank rank = 0; rank < 2; ++rank) {
      Role role;
      role.name = "rank";
      role.ranks = {RankBox{rank, {}}};
      const RoleId id = program.add_role(role);
      host[rank] = program.add_stream({id, StreamKind::host, "thread"});
      device[rank] = program.add_stream({id, StreamKind::compute, "stream 7"});
    }
  }
  RowId add(OperationKind kind, StreamId stream, Time duration, std::vector<RowId> after = {},
            std::vector<Time> lags = {}, Time queue_lag = Time::zero(), Cause cause = Cause::gemm) {
    Operation row;
    row.kind = kind;
    row.stream = stream;
    row.duration = duration;
    row.queue_lag = queue_lag;
    row.cause = cause;
    return program.add(row, after, {}, lags);
  }
  RowId think(int rank, Time duration) {
    return add(OperationKind::think, host[rank], duration, {}, {}, Time::zero(), Cause::host);
  }
  RowId meet(int rank, MeetingId meeting, std::vector<RowId> after) {
    Operation row;
    row.kind = OperationKind::collective;
    row.stream = device[rank];
    row.meeting = meeting;
    row.cause = Cause::exposed_tp;
    return program.add(row, after);
  }
  void expect_explained(const Timeline& timeline) {
    for (const auto& role : break_down(program, timeline)) {
      EXPECT_EQ(std::accumulate(role.by_cause.begin(), role.by_cause.end(), Time::zero()), timeline.makespan);
    }
    Time length = Time::zero();
    for (const auto& part : critical_path(program, timeline)) length += part.end - part.begin;
    EXPECT_EQ(length, timeline.makespan);
  }

  Program program;
  StreamId host[2] = {};
  StreamId device[2] = {};
};

TEST_F(Recorded, ARowBeginsItsLagAfterWhatItWaitsForAndTakesItsDuration) {
  const RowId call = think(0, 10_us);
  const RowId kernel = add(OperationKind::compute, device[0], 7_us, {call}, {5_us});
  const Timeline timeline = play(program, no_machine());
  EXPECT_EQ(timeline.begin[kernel], 15_us);
  EXPECT_EQ(timeline.end[kernel], 22_us);
  EXPECT_EQ(timeline.makespan, 22_us);
  expect_explained(timeline);
}

TEST_F(Recorded, TheQueueLagCountsFromTheRowBeforeOnTheStream) {
  const RowId first = think(0, 1_us);
  const RowId a = add(OperationKind::compute, device[0], 20_us, {first}, {5_us});
  const RowId second = think(0, 1_us);
  const RowId b = add(OperationKind::compute, device[0], 20_us, {second}, {5_us}, 2_us);
  const Timeline timeline = play(program, no_machine());
  EXPECT_EQ(timeline.begin[b], timeline.end[a] + 2_us);
  expect_explained(timeline);
}

TEST_F(Recorded, OfSeveralLagsTheLatestHolds) {
  const RowId a = think(0, 10_us);
  const RowId b = think(1, 12_us);
  const RowId kernel = add(OperationKind::compute, device[0], 1_us, {a, b}, {9_us, 1_us});
  const Timeline timeline = play(program, no_machine());
  EXPECT_EQ(timeline.begin[kernel], 19_us);
  EXPECT_EQ(timeline.released_by[kernel], a);
  expect_explained(timeline);
}

TEST_F(Recorded, AMeetingEndsItsDurationAfterItsLastParty) {
  const MeetingId meeting = program.add_recorded_meeting(4_us, 2);
  const RowId early = think(0, 3_us);
  const RowId a = meet(0, meeting, {early});
  const RowId late = think(1, 30_us);
  const RowId b = meet(1, meeting, {late});
  const Timeline timeline = play(program, no_machine());
  EXPECT_EQ(timeline.ready[a], 3_us);
  EXPECT_EQ(timeline.begin[a], 30_us);
  EXPECT_EQ(timeline.end[a], 34_us);
  EXPECT_EQ(timeline.end[b], 34_us);
  const auto times = break_down(program, timeline);
  // The peer's host was late: that is no fault of the network.
  EXPECT_EQ(times[0].by_cause[static_cast<std::size_t>(Cause::exposed_tp)], 4_us);
  EXPECT_EQ(times[0].by_cause[static_cast<std::size_t>(Cause::host)], 30_us);
  expect_explained(timeline);
}

TEST_F(Recorded, ABlockingCallEndsItsHoldAfterTheKernel) {
  const RowId call = think(0, 1_us);
  const RowId kernel = add(OperationKind::compute, device[0], 50_us, {call}, {5_us});
  const RowId synchronise = add(OperationKind::think, host[0], 3_us, {kernel}, {}, Time::zero(), Cause::host);
  const Timeline timeline = play(program, no_machine());
  EXPECT_EQ(timeline.end[synchronise], 59_us);
  expect_explained(timeline);
}

TEST_F(Recorded, AStragglersKernelsTakeLongerItsHostDoesNot) {
  program.roles[0].slow_down = 2.0;
  const RowId call = think(0, 10_us);
  const RowId kernel = add(OperationKind::compute, device[0], 10_us, {call});
  const Timeline timeline = play(program, no_machine());
  EXPECT_EQ(timeline.end[call], 10_us);
  EXPECT_EQ(timeline.end[kernel], 30_us);
}

}  // namespace
}  // namespace warploom
