// SPDX-License-Identifier: Apache-2.0
// What waited for what in a captured run, and how its program plays: on captures made by hand, where every time is
// known, and on real ones against what was measured.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/errors.hpp"
#include "tests/support/hand_capture.hpp"
#include "traces/captured_run.hpp"
#include "traces/communication_cause.hpp"

namespace warploom {
namespace {

using testing::HandCapture;
using testing::run_of;
using testing::run_of_hand;
using testing::us;

// Twenty kernels that the host launches every 10 us, each of 5 us: the device waits for the host.
HandCapture launch_bound() {
  HandCapture hand;
  for (int i = 0; i < 20; ++i) hand.kernel("gemm", "7", (10 + 10 * i) * us, 5 * us, 6 * us);
  return hand;
}
// Twenty kernels of 50 us, launched every 10 us: the host runs ahead, and 1 us lies between two of them.
HandCapture queued() {
  HandCapture hand;
  for (int i = 0; i < 20; ++i) {
    hand.op("gemm", "7", (10 + 51 * i) * us, 50 * us,
            hand.call("cudaLaunchKernel", CallKind::launch, (4 + 10 * i) * us, 4 * us));
  }
  return hand;
}

TEST(Lags, LaunchLatencyIsThatOfIdleStreams) {
  auto hand = launch_bound();
  const Capture capture = hand.take();
  const CaptureGraph graph = find_dependencies(capture);
  EXPECT_EQ(graph.lags.launch(capture, 5), 6 * us);
  EXPECT_FALSE(graph.lags.launch_is_default());
}

TEST(Lags, QueueGapIsThatOfOperationsThatWereLaunchedLongBefore) {
  auto hand = queued();
  const Capture capture = hand.take();
  const CaptureGraph graph = find_dependencies(capture);
  EXPECT_EQ(graph.lags.queue(capture.device_ops[0], capture.device_ops[1]), 1 * us);
}

TEST(SelfReplay, IsExactWhereEveryLagIsTheSame) {
  for (auto* make : {&launch_bound, &queued}) {
    HandCapture hand = make();
    const CapturedRun run = run_of_hand(hand);
    ASSERT_EQ(run.self.ranks.size(), 1U);
    EXPECT_EQ(run.self.ranks[0].start_error_max, 0);
    EXPECT_EQ(run.self.error, 0);
  }
}

// Ten days are played; a hundred and one are events of two clocks.
TEST(SelfReplay, RefusesEventsThatAClockDoesNotHoldAndNamesTheFile) {
  constexpr Nanoseconds day = 86'400'000'000 * us;
  for (const std::int64_t days : {10, 101}) {
    HandCapture hand = launch_bound();
    hand.kernel("gemm", "7", days * day, 5 * us, 6 * us);
    ReadTraces read;
    read.captures.push_back(hand.take());
    if (days == 10) {
      EXPECT_EQ(understand(std::move(read)).self.error, 0);
      continue;
    }
    try {
      understand(std::move(read));
      FAIL();
    } catch (const UserError& error) {
      EXPECT_EQ(
          error.message(),
          "rank0: its events lie 101 days apart, from 4.000 us to 8726400000005.000 us: expected at most 100 days");
    }
  }
}

TEST(SelfReplay, DoublesWhatIsBusyAndLeavesTheHost) {
  auto hand = queued();
  std::vector<Capture> captures;
  captures.push_back(hand.take());
  CapturedRun run = run_of(std::move(captures));
  Retiming twice;
  for (const auto& op : run.captures[0].device_ops) {
    if (twice.durations.empty()) twice.durations.emplace_back();
    twice.durations[0].push_back(2 * op.duration);
  }
  const CapturedProgram program = make_program(run.captures, run.graphs, run.matching, twice);
  const Timeline timeline = play_as_captured(program.program);
  // First start 10 us in, 20 kernels of 100 us and 19 gaps of 1 us; the capture's zero is its first call at 4 us.
  EXPECT_EQ(timeline.makespan, Time::picoseconds(1'000'000) * (6 + 20 * 100 + 19));
}

TEST(Dependencies, AStreamWaitIsInferredWhereNoRecordSaysWhatItWaitedFor) {
  HandCapture hand;
  hand.kernel("gemm", "7", 10 * us, 100 * us, 6 * us);
  hand.call("cudaStreamWaitEvent", CallKind::stream_wait, 12 * us, 1 * us);
  hand.op("other_kernel", "8", 111 * us, 5 * us, hand.call("cudaLaunchKernel", CallKind::launch, 14 * us, 4 * us));
  const CapturedRun run = run_of_hand(hand);
  ASSERT_EQ(run.graphs[0].edges.size(), 1U);
  EXPECT_FALSE(run.graphs[0].edges[0].is_recorded);
  EXPECT_EQ(run.graphs[0].counts.inferred, 1);
}

TEST(Dependencies, WhatTheCaptureContradictsIsNotInferred) {
  HandCapture hand;
  hand.kernel("gemm", "7", 10 * us, 100 * us, 6 * us);
  hand.call("cudaStreamWaitEvent", CallKind::stream_wait, 12 * us, 1 * us);
  hand.kernel("other_kernel", "8", 20 * us, 5 * us, 6 * us);  // it began while the other ran
  const CapturedRun run = run_of_hand(hand);
  EXPECT_TRUE(run.graphs[0].edges.empty());
  EXPECT_EQ(run.graphs[0].counts.contradicted, 1);
}

TEST(Dependencies, RecordedEventsSayWhatWasWaitedFor) {
  HandCapture hand;
  hand.kernel("gemm", "7", 10 * us, 100 * us, 6 * us);
  const auto record = hand.call("cudaEventRecord", CallKind::event_record, 11 * us, 1 * us);
  hand.kernel("late", "7", 115 * us, 300 * us, 6 * us);  // after the record: nobody waits for it
  const auto wait = hand.call("cudaStreamWaitEvent", CallKind::stream_wait, 112 * us, 1 * us);
  hand.kernel("other_kernel", "8", 125 * us, 5 * us, 6 * us);
  Sync sync;
  sync.start = 112 * us;
  sync.correlation = wait;
  sync.record_correlation = record;
  sync.stream = hand.stream("8");
  sync.recorded_on = hand.stream("7");
  hand.capture.syncs.push_back(sync);
  const CapturedRun run = run_of_hand(hand);
  ASSERT_EQ(run.graphs[0].edges.size(), 1U);
  EXPECT_TRUE(run.graphs[0].edges[0].is_recorded);
  EXPECT_EQ(run.captures[0].texts[run.captures[0].device_ops[run.graphs[0].edges[0].from].name], "gemm");
}

TEST(Dependencies, ABlockingCallGoesOnWithTheDevice) {
  HandCapture hand;
  hand.kernel("gemm", "7", 10 * us, 100 * us, 6 * us);
  hand.call("cudaDeviceSynchronize", CallKind::device_sync, 9 * us, 103 * us);  // returns 2 us after the kernel
  hand.kernel("next", "7", 130 * us, 10 * us, 6 * us);
  std::vector<Capture> captures;
  captures.push_back(hand.take());
  CapturedRun run = run_of(std::move(captures));
  EXPECT_EQ(run.self.ranks[0].start_error_max, 0);
  Retiming faster;
  faster.durations = {{50 * us, 10 * us}};
  const CapturedProgram program = make_program(run.captures, run.graphs, run.matching, faster);
  const Timeline timeline = play_as_captured(program.program);
  // All that followed the synchronisation comes 50 us earlier.
  EXPECT_EQ(timeline.makespan, Time::picoseconds(1'000'000) * (140 - 4 - 50));
}

TEST(Dependencies, OperationsThatOverlapOnAStreamKeepTheirOverlap) {
  HandCapture hand;
  hand.kernel("a", "7", 10 * us, 50 * us, 6 * us);
  hand.kernel("b", "7", 55 * us, 20 * us, 6 * us);  // launched to begin before `a` has ended
  const CapturedRun run = run_of_hand(hand);
  EXPECT_EQ(run.self.ranks[0].start_error_max, 0);
}

TEST(Dependencies, WhatNoCallLaunchedKeepsItsPlaceAndIsCounted) {
  HandCapture hand;
  hand.op("orphan", "7", 0, 10 * us, 0);
  hand.op("orphan", "7", 500 * us, 10 * us, 0);
  hand.kernel("gemm", "7", 600 * us, 10 * us, 6 * us);
  const CapturedRun run = run_of_hand(hand);
  EXPECT_EQ(run.self.ranks[0].start_error_max, 0);
  EXPECT_GE(run.graphs[0].counts.timed_gaps, 2);
}

// Two ranks, three all-reduces; rank 1 is late by 30 us each time.
std::pair<HandCapture, HandCapture> late_peer() {
  HandCapture first(0);
  HandCapture second(1);
  for (int i = 0; i < 3; ++i) {
    const Nanoseconds at = (100 + 200 * i) * us;
    first.all_reduce(at, 50 * us);
    second.all_reduce(at + 30 * us, 20 * us);
  }
  return {std::move(first), std::move(second)};
}

TEST(Matching, TransferIsTheLeastDurationOfAllMembers) {
  auto [first, second] = late_peer();
  const CapturedRun run = run_of_hand(first, second);
  ASSERT_EQ(run.matching.matched, 3);
  for (const auto& collective : run.matching.collectives) EXPECT_EQ(collective.transfer, 20 * us);
  EXPECT_EQ(run.self.ranks[0].start_error_max, 0);
  EXPECT_EQ(run.self.error, 0);
}

TEST(Matching, NamesTheRankThatOthersWaitedFor) {
  auto [first, second] = late_peer();
  const CapturedRun run = run_of_hand(first, second);
  const auto stragglers = find_stragglers(run);
  EXPECT_EQ(stragglers[0].capture, 1U);
  EXPECT_EQ(stragglers[0].last, 3);
  EXPECT_EQ(stragglers[0].others_waited, 90 * us);
}

TEST(Matching, ClocksAreAlignedByTheEndsOfCollectives) {
  auto [first, second] = late_peer();
  for (auto& call : second.capture.calls) call.start += 5000 * us;
  for (auto& op : second.capture.device_ops) op.start += 5000 * us;
  const CapturedRun run = run_of_hand(first, second);
  EXPECT_EQ(run.matching.clock_offset[1] - run.matching.clock_offset[0], 5000 * us);
  EXPECT_EQ(run.self.error, 0);
}

TEST(Matching, AMissingCollectiveIsNamed) {
  auto [first, second] = late_peer();
  second.capture.device_ops.pop_back();
  const CapturedRun run = run_of_hand(first, second);
  EXPECT_EQ(run.matching.matched, 2);
  EXPECT_EQ(run.matching.unmatched, 1);
  ASSERT_EQ(run.matching.mismatches.size(), 1U);
  EXPECT_NE(run.matching.mismatches[0].find("rank 1"), std::string::npos);
  EXPECT_FALSE(doubts(run).empty());
}

TEST(Matching, ASpedUpStragglerLetsTheOthersGo) {
  auto [first, second] = late_peer();
  std::vector<Capture> captures;
  captures.push_back(first.take());
  captures.push_back(second.take());
  CapturedRun run = run_of(std::move(captures));
  Retiming even;
  even.starts = {0, 0};
  even.thinks = {{}, {}};
  for (std::size_t i = 0; i < 2; ++i) {
    for (const auto& step : run.graphs[0].steps) even.thinks[i].push_back(step.think);
  }
  const CapturedProgram program = make_program(run.captures, run.graphs, run.matching, even);
  const Timeline timeline = play_as_captured(program.program);
  EXPECT_LT(timeline.makespan, run.timeline.makespan);
  const RowId row = program.row_of_op[0][0];
  EXPECT_LT(timeline.begin[row] - timeline.ready[row], 30_us);
}

TEST(CommunicationCause, IsReadFromTheGroupsDescription) {
  EXPECT_EQ(communication_cause("TENSOR_MODEL_PARALLEL_GROUP"), Cause::exposed_tp);
  EXPECT_EQ(communication_cause("mesh_dp"), Cause::exposed_dp);
  EXPECT_EQ(communication_cause("EXPERT_DATA_PARALLEL_GROUP"), Cause::exposed_ep);
  EXPECT_EQ(communication_cause("default_pg"), Cause::exposed_other);
  EXPECT_EQ(communication_cause("updated"), Cause::exposed_other);  // no word of it
}

// ---- Real captures (R1, R2, R5 of the acceptance criteria) --------------------------------------------------------

std::string real(const std::string& path) {
  const char* data = std::getenv("WARPLOOM_DATA");
  if (data == nullptr || *data == '\0') return {};
  const std::string whole = std::string(data) + "/traces/" + path;
  return std::filesystem::exists(whole) ? whole : std::string();
}

struct RealCase {
  std::vector<std::string> paths;
  double span_error;
  Nanoseconds start_error_p50;
};

void PrintTo(const RealCase& one, std::ostream* out) { *out << one.paths.front(); }

class RealReplay : public ::testing::TestWithParam<RealCase> {};

TEST_P(RealReplay, IsAsMeasured) {
  std::vector<std::string> paths;
  for (const auto& path : GetParam().paths) {
    const std::string whole = real(path);
    if (whole.empty()) GTEST_SKIP() << "WARPLOOM_DATA has no traces/" << path;
    paths.push_back(whole);
  }
  const CapturedRun run = understand(paths);
  for (const auto& rank : run.self.ranks) {
    EXPECT_LE(std::abs(rank.span_error()), GetParam().span_error) << "rank " << rank.rank.value_or(-1);
    EXPECT_LE(rank.start_error_p50, GetParam().start_error_p50) << "rank " << rank.rank.value_or(-1);
  }
}

std::vector<std::string> megatron() {
  std::vector<std::string> paths;
  for (int rank = 0; rank < 8; ++rank) {
    paths.push_back("astra_history/megatron-tp8/megatron_kineto_" + std::to_string(rank) + ".json.gz");
  }
  return paths;
}

INSTANTIATE_TEST_SUITE_P(
    Criteria, RealReplay,
    ::testing::Values(RealCase{megatron(), 1e-5, 20 * us}, RealCase{{"param/dlrm_kineto.tar.gz"}, 1e-3, 5 * us},
                      RealCase{{"hta/nccl_parser_config/nccl_data.json.gz"}, 1e-3, 5 * us},
                      RealCase{{"hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz"}, 1e-3, 60 * us},
                      RealCase{{"nsys/nsysai_h100_2gpu_1s.cfa580.sqlite.gz"}, 1e-3, 30 * us},
                      RealCase{{"tracelens/traces/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz"}, 1e-3, 30 * us}),
    [](const auto& info) { return "Case" + std::to_string(info.index); });

TEST(RealReplayDoubts, ARankWithoutItsPeersIsMarked) {
  const std::string path = real("tracelens/traces/mi300/resnet_act_checkpoint.json.gz");
  if (path.empty()) GTEST_SKIP() << "WARPLOOM_DATA has no such trace";
  EXPECT_FALSE(doubts(understand(std::vector{path})).empty());
}

}  // namespace
}  // namespace warploom
