// SPDX-License-Identifier: Apache-2.0
// The chain of rows that set the time, and timelines that do not connect.
#include "sim/play/critical_path.hpp"

#include <gtest/gtest.h>

#include "sim/core/errors.hpp"
#include "tests/support/hand_timeline.hpp"

namespace warploom {

// For messages of gtest.
bool operator==(const PathPart& a, const PathPart& b) {
  return a.row == b.row && a.cause == b.cause && a.begin == b.begin && a.end == b.end;
}

namespace {

using testing::HandTimeline;
using Path = std::vector<PathPart>;

Time ps(std::int64_t n) { return Time::picoseconds(n); }

TEST(CriticalPath, FollowsTheLastPartyOfAMeetingToTheOtherRole) {
  HandTimeline hand(2);
  const auto meeting = hand.meeting(2);
  const RowId quick = hand.kernel(0, {ps(0), ps(10)});
  const RowId slow = hand.kernel(1, {ps(0), ps(40)}, Cause::attention);
  const RowId here =
      hand.meet(0, OperationKind::collective, Cause::exposed_tp,
                {.begin = ps(40), .end = ps(55), .ready = ps(10), .release = Release::row, .by = quick}, meeting);
  const RowId there = hand.meet(1, OperationKind::collective, Cause::exposed_tp,
                                {.begin = ps(40), .end = ps(55), .release = Release::row, .by = slow}, meeting);
  hand.timeline.last_party[here] = there;
  const RowId last = hand.kernel(0, {.begin = ps(55), .end = ps(60), .release = Release::row, .by = here});
  EXPECT_EQ(critical_path(hand.program, hand.timeline), (Path{{slow, Cause::attention, ps(0), ps(40)},
                                                              {here, Cause::exposed_tp, ps(40), ps(55)},
                                                              {last, Cause::gemm, ps(55), ps(60)}}));
}

TEST(CriticalPath, SplitsOffWhatSharingAdded) {
  HandTimeline hand(1);
  const RowId row = hand.kernel(0, {.begin = ps(0), .end = ps(10), .alone = ps(7)});
  EXPECT_EQ(critical_path(hand.program, hand.timeline),
            (Path{{row, Cause::gemm, ps(0), ps(7)}, {row, Cause::interference, ps(7), ps(10)}}));
}

TEST(CriticalPath, GoesThroughLaunchesBackToTheHostRowBefore) {
  HandTimeline hand(1);
  const RowId load = hand.host(0, {.begin = ps(3), .end = ps(30), .release = Release::host}, Cause::data);
  const RowId row = hand.kernel(0, {.begin = ps(35), .end = ps(40), .release = Release::host, .by = load});
  EXPECT_EQ(critical_path(hand.program, hand.timeline), (Path{{load, Cause::host, ps(0), ps(3)},
                                                              {load, Cause::data, ps(3), ps(30)},
                                                              {row, Cause::host, ps(30), ps(35)},
                                                              {row, Cause::gemm, ps(35), ps(40)}}));
}

TEST(CriticalPath, IsEmptyForAnEmptyProgram) { EXPECT_TRUE(critical_path(Program{}, Timeline{}).empty()); }

TEST(CriticalPath, RefusesATimelineThatDoesNotConnect) {
  HandTimeline gap(1);
  const RowId first = gap.kernel(0, {ps(0), ps(10)});
  gap.kernel(0, {.begin = ps(11), .end = ps(20), .release = Release::row, .by = first});
  EXPECT_THROW(critical_path(gap.program, gap.timeline), InternalError);

  HandTimeline late(1);
  late.kernel(0, {ps(1), ps(10)});
  EXPECT_THROW(critical_path(late.program, late.timeline), InternalError);

  HandTimeline circle(1);
  circle.kernel(0, {.begin = ps(10), .end = ps(10), .release = Release::row, .by = 1});
  circle.kernel(0, {.begin = ps(10), .end = ps(10), .release = Release::row, .by = 0});
  EXPECT_THROW(critical_path(circle.program, circle.timeline), InternalError);
}

}  // namespace
}  // namespace warploom
