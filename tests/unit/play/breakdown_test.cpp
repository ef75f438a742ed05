// SPDX-License-Identifier: Apache-2.0
// Where time goes, on timelines written by hand: one rule a test, and every picosecond is looked at.
#include "sim/play/breakdown.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <map>
#include <utility>

#include "tests/support/hand_timeline.hpp"

namespace warploom {
namespace {

using namespace warploom::literals;
using testing::HandTimeline;
using Expected = std::map<std::string_view, Time>;

Time ps(std::int64_t n) { return Time::picoseconds(n); }

// Only what is not zero.
Expected causes(const HandTimeline& hand, RoleId role = 0) {
  Expected found;
  const auto times = break_down(hand.program, hand.timeline);
  for (std::size_t cause = 0; cause < cause_count; ++cause) {
    if (times[role].by_cause[cause] != Time::zero()) found[cause_names[cause]] = times[role].by_cause[cause];
  }
  return found;
}

TEST(Breakdown, ChargesAKernelsTimeAloneToItsCauseAndTheRestToInterference) {
  HandTimeline hand(1);
  hand.kernel(0, {.begin = ps(0), .end = ps(100), .alone = ps(70)}, Cause::attention);
  EXPECT_EQ(causes(hand), (Expected{{"attention", ps(70)}, {"interference", ps(30)}}));
}

TEST(Breakdown, GivesOverlappingTimeToTheKernelThatBeganFirst) {
  HandTimeline hand(1);
  hand.kernel(0, {.begin = ps(0), .end = ps(60)}, Cause::gemm);
  // Half of it is hidden, so half of its 80 ps alone remain.
  hand.add(hand.operation(0, StreamKind::communication, OperationKind::compute, Cause::optimizer),
           {.begin = ps(10), .end = ps(110), .alone = ps(80)});
  EXPECT_EQ(causes(hand), (Expected{{"gemm", ps(60)}, {"optimizer", ps(40)}, {"interference", ps(10)}}));
}

TEST(Breakdown, CountsNothingForCommunicationUnderAKernel) {
  HandTimeline hand(1);
  hand.kernel(0, {ps(0), ps(100)});
  hand.meet(0, OperationKind::collective, Cause::exposed_dp, {ps(10), ps(90)}, hand.meeting(1));
  EXPECT_EQ(causes(hand), (Expected{{"gemm", ps(100)}}));
}

TEST(Breakdown, SplitsAWaitInACollectiveAtTheArrivalOfItsLastMember) {
  HandTimeline hand(2);
  const auto meeting = hand.meeting(2);
  const RowId mine = hand.kernel(0, {ps(0), ps(10)});
  const RowId theirs = hand.kernel(1, {ps(0), ps(40)});
  const RowId first =
      hand.meet(0, OperationKind::collective, Cause::exposed_tp,
                {.begin = ps(40), .end = ps(55), .ready = ps(10), .release = Release::row, .by = mine}, meeting);
  const RowId last = hand.meet(1, OperationKind::collective, Cause::exposed_tp,
                               {.begin = ps(40), .end = ps(55), .release = Release::row, .by = theirs}, meeting);
  hand.timeline.last_party[first] = last;
  hand.kernel(0, {.begin = ps(55), .end = ps(60), .release = Release::row, .by = first});
  hand.kernel(1, {.begin = ps(55), .end = ps(60), .release = Release::row, .by = last});
  EXPECT_EQ(causes(hand, 0), (Expected{{"gemm", ps(15)}, {"skew", ps(30)}, {"exposed_tp", ps(15)}}));
  EXPECT_EQ(causes(hand, 1), (Expected{{"gemm", ps(45)}, {"exposed_tp", ps(15)}}));

  hand.program.spans_pipeline.set(first, true);
  EXPECT_EQ(causes(hand, 0), (Expected{{"gemm", ps(15)}, {"bubble", ps(30)}, {"exposed_tp", ps(15)}}));
}

TEST(Breakdown, CallsWaitingForASenderBubbleAndItsTransferExposed) {
  HandTimeline hand(2);
  const auto meeting = hand.meeting(2, CollectiveKind::send_recv);
  const RowId work = hand.kernel(0, {ps(0), ps(30)});
  const RowId send = hand.meet(0, OperationKind::send, Cause::exposed_pp,
                               {.begin = ps(30), .end = ps(37), .release = Release::row, .by = work}, meeting);
  const RowId recv =
      hand.meet(1, OperationKind::recv, Cause::exposed_pp, {.begin = ps(30), .end = ps(37), .ready = ps(0)}, meeting);
  hand.timeline.last_party[recv] = send;
  hand.kernel(1, {.begin = ps(37), .end = ps(50), .release = Release::row, .by = recv});
  EXPECT_EQ(causes(hand, 1), (Expected{{"bubble", ps(30)}, {"exposed_pp", ps(7)}, {"gemm", ps(13)}}));
  // The sender's last row ends at 37; what follows it is bubble, because the program spans a pipeline.
  EXPECT_EQ(causes(hand, 0), (Expected{{"gemm", ps(30)}, {"exposed_pp", ps(7)}, {"bubble", ps(13)}}));
}

TEST(Breakdown, BlamesTheHostOfALastPartyThatWasLaunchedLate) {
  HandTimeline hand(2);
  const auto meeting = hand.meeting(2, CollectiveKind::send_recv);
  const RowId send = hand.meet(0, OperationKind::send, Cause::exposed_pp,
                               {.begin = ps(30), .end = ps(37), .release = Release::host}, meeting);
  const RowId recv =
      hand.meet(1, OperationKind::recv, Cause::exposed_pp, {.begin = ps(30), .end = ps(37), .ready = ps(0)}, meeting);
  hand.timeline.last_party[recv] = send;
  hand.kernel(1, {.begin = ps(37), .end = ps(50), .release = Release::row, .by = recv});
  EXPECT_EQ(causes(hand, 1), (Expected{{"host", ps(30)}, {"exposed_pp", ps(7)}, {"gemm", ps(13)}}));
}

TEST(Breakdown, WalksThroughAChainOfCommunicationToTheKernelBeforeTheGap) {
  HandTimeline hand(1);
  const RowId work = hand.kernel(0, {ps(0), ps(10)});
  const RowId one = hand.meet(0, OperationKind::collective, Cause::exposed_dp,
                              {.begin = ps(10), .end = ps(14), .release = Release::row, .by = work}, hand.meeting(1));
  const RowId two = hand.meet(0, OperationKind::collective, Cause::exposed_tp,
                              {.begin = ps(14), .end = ps(20), .release = Release::row, .by = one}, hand.meeting(1));
  hand.kernel(0, {.begin = ps(20), .end = ps(21), .release = Release::row, .by = two});
  EXPECT_EQ(causes(hand), (Expected{{"gemm", ps(11)}, {"exposed_dp", ps(4)}, {"exposed_tp", ps(6)}}));
}

TEST(Breakdown, CountsOnlyThePartOfACallThatAKernelDidNotHide) {
  HandTimeline hand(1);
  const RowId call = hand.meet(0, OperationKind::collective, Cause::exposed_dp, {ps(0), ps(50)}, hand.meeting(1));
  hand.kernel(0, {ps(0), ps(20)});
  hand.kernel(0, {.begin = ps(50), .end = ps(51), .release = Release::row, .by = call});
  EXPECT_EQ(causes(hand), (Expected{{"gemm", ps(21)}, {"exposed_dp", ps(30)}}));
}

TEST(Breakdown, ChargesLateLaunchesToTheHostAndHostRowsToTheirOwnCause) {
  HandTimeline hand(1);
  const RowId work = hand.kernel(0, {ps(0), ps(10)});
  const RowId load = hand.host(0, {.begin = ps(10), .end = ps(30), .release = Release::row, .by = work}, Cause::data);
  hand.kernel(0, {.begin = ps(35), .end = ps(40), .release = Release::host, .by = load});
  EXPECT_EQ(causes(hand), (Expected{{"gemm", ps(15)}, {"data", ps(20)}, {"host", ps(5)}}));
}

TEST(Breakdown, ChargesTheFirstLaunchToTheHost) {
  HandTimeline hand(1);
  hand.kernel(0, {.begin = ps(5), .end = ps(8), .release = Release::host});
  EXPECT_EQ(causes(hand), (Expected{{"host", ps(5)}, {"gemm", ps(3)}}));
}

TEST(Breakdown, LetsACopyOwnWhereNoKernelRuns) {
  HandTimeline hand(1);
  const RowId first = hand.kernel(0, {ps(0), ps(10)});
  const RowId copy = hand.copy(0, {.begin = ps(4), .end = ps(30), .release = Release::row, .by = first});
  hand.kernel(
      0, {.begin = ps(15), .end = ps(20), .release = Release::row, .by = first});  // gaps 10-15 and 20-30 are copy's
  hand.kernel(0, {.begin = ps(30), .end = ps(31), .release = Release::row, .by = copy});
  EXPECT_EQ(causes(hand), (Expected{{"gemm", ps(16)}, {"copy", ps(15)}}));
}

TEST(Breakdown, ExplainsOnlyWhatACopyLeavesOfAGap) {
  HandTimeline hand(1);
  const RowId call = hand.meet(0, OperationKind::collective, Cause::exposed_ep, {ps(0), ps(50)}, hand.meeting(1));
  hand.copy(0, {ps(10), ps(30)});
  hand.copy(0, {ps(20), ps(32)});
  hand.kernel(0, {.begin = ps(50), .end = ps(60), .release = Release::row, .by = call});
  EXPECT_EQ(causes(hand), (Expected{{"exposed_ep", ps(28)}, {"copy", ps(22)}, {"gemm", ps(10)}}));
}

TEST(Breakdown, CountsCopiesThatOverlapOnce) {
  HandTimeline hand(1);
  hand.copy(0, {ps(0), ps(50)});
  hand.copy(0, {ps(10), ps(20)});
  hand.copy(0, {ps(30), ps(60)});
  EXPECT_EQ(causes(hand), (Expected{{"copy", ps(60)}}));
}

TEST(Breakdown, IsIdleAfterTheLastRowOfAProgramWithoutPipeline) {
  HandTimeline hand(2);
  const RowId work = hand.kernel(0, {ps(0), ps(10)});
  hand.meet(0, OperationKind::collective, Cause::exposed_dp,
            {.begin = ps(10), .end = ps(16), .release = Release::row, .by = work}, hand.meeting(1));
  hand.kernel(1, {ps(0), ps(40)});
  EXPECT_EQ(causes(hand, 0), (Expected{{"gemm", ps(10)}, {"exposed_dp", ps(6)}, {"idle", ps(24)}}));
}

TEST(Breakdown, CallsAWaitForAnotherRolesRowBubbleOnlyInAPipeline) {
  HandTimeline hand(2);
  const RowId theirs = hand.kernel(1, {ps(0), ps(25)});
  const RowId mine = hand.kernel(0, {ps(0), ps(10)});
  Operation next = hand.operation(0, StreamKind::compute, OperationKind::compute, Cause::gemm);
  hand.add(next, {.begin = ps(25), .end = ps(30), .release = Release::row, .by = theirs}, {mine, theirs});
  EXPECT_EQ(causes(hand, 0), (Expected{{"gemm", ps(15)}, {"skew", ps(15)}}));
}

TEST(Breakdown, IsIdleWhereNothingExplainsAGap) {
  HandTimeline hand(1);
  hand.kernel(0, {.begin = ps(7), .end = ps(9)});  // started by nothing, and late
  hand.kernel(0, {.begin = ps(15), .end = ps(20), .release = Release::row, .by = none});  // released by nobody
  hand.kernel(0, {.begin = ps(25), .end = ps(26), .release = Release::row, .by = 3});     // by a row after it
  hand.kernel(0, {.begin = ps(26), .end = ps(27), .release = Release::row, .by = 2});
  EXPECT_EQ(causes(hand), (Expected{{"gemm", ps(9)}, {"idle", ps(18)}}));
}

TEST(Breakdown, IsAllIdleForARoleWithoutRows) {
  HandTimeline hand(2);
  hand.kernel(0, {ps(0), ps(40)});
  EXPECT_EQ(causes(hand, 1), (Expected{{"idle", ps(40)}}));
}

TEST(Breakdown, TakesForwardAndBackwardWorkFromKernelsAndTheirExposedTensorParallelCalls) {
  HandTimeline hand(1);
  const RowId forward = hand.kernel(0, {.begin = ps(0), .end = ps(10), .alone = ps(8)}, Cause::gemm, Phase::forward);
  const RowId tp = hand.meet(0, OperationKind::collective, Cause::exposed_tp,
                             {.begin = ps(10), .end = ps(13), .release = Release::row, .by = forward}, hand.meeting(1));
  const RowId backward = hand.kernel(0, {.begin = ps(13), .end = ps(30), .release = Release::row, .by = tp},
                                     Cause::recompute, Phase::backward);
  const RowId dp = hand.meet(0, OperationKind::collective, Cause::exposed_dp,
                             {.begin = ps(30), .end = ps(34), .release = Release::row, .by = backward}, hand.meeting(1),
                             Phase::backward);
  hand.kernel(0, {.begin = ps(34), .end = ps(40), .release = Release::row, .by = dp}, Cause::optimizer,
              Phase::optimizer);
  EXPECT_EQ(break_down(hand.program, hand.timeline)[0].forward_backward, ps(10 + 3 + 17));
}

}  // namespace
}  // namespace warploom
