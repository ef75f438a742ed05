// SPDX-License-Identifier: Apache-2.0
// Traces are read back by the official field numbers and compared with the timeline.
#include "traces/perfetto_writer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "sim/core/errors.hpp"
#include "sim/play/executor.hpp"
#include "tests/support/hand_timeline.hpp"
#include "tests/support/perfetto_reader.hpp"
#include "tests/support/toy_machine.hpp"

namespace warploom {
namespace {

using namespace warploom::literals;
using ::testing::ElementsAre;
using testing::HandTimeline;
using ::testing::Pair;
using testing::TraceReading;

TraceReading read_back(const Program& program, const Timeline& timeline) {
  std::ostringstream out;
  write_perfetto(program, timeline, out);
  return testing::TraceReader::read(out.str());
}

TEST(PerfettoWriter, MakesAProcessOfARoleAndAThreadOfAStream) {
  HandTimeline hand(2, 64);
  const auto trace = read_back(hand.program, hand.timeline);
  EXPECT_THAT(trace.processes, ElementsAre(Pair(1, "role0 (64 devices)"), Pair(2, "role1 (64 devices)")));
  EXPECT_EQ(trace.threads.size(), 8U);
  EXPECT_EQ(trace.threads.at(3), "stream0");
  EXPECT_EQ(trace.parents.at(3), 1U);
  EXPECT_EQ(trace.parents.at(10), 2U);
}

TEST(PerfettoWriter, DrawsRowsWithCauseNameAndArguments) {
  HandTimeline hand(1);
  auto kernel = hand.operation(0, StreamKind::compute, OperationKind::compute, Cause::recompute);
  kernel.phase = Phase::backward;
  kernel.name = hand.program.add_name("mlp up");
  kernel.layer = 7;
  kernel.micro_batch = 2;
  hand.add(kernel, {.begin = 1_us, .end = 4_us, .alone = 2_us});
  hand.timeline.plans.resize(1);
  const RowId call =
      hand.meet(0, OperationKind::collective, Cause::exposed_dp, {.begin = 5_us, .end = 6_us, .ready = 2_us},
                hand.meeting(1, CollectiveKind::all_gather, 3_MB));
  hand.timeline.plans[0].algorithm = "ring";
  const auto trace = read_back(hand.program, hand.timeline);
  ASSERT_EQ(trace.slices.size(), 2U);
  const auto& slice = trace.slices[0];
  EXPECT_EQ(slice.name, "mlp up");
  EXPECT_EQ(slice.category, "recompute");
  EXPECT_EQ(slice.begin, 1000U);
  EXPECT_EQ(slice.end, 4000U);
  EXPECT_THAT(slice.arguments, ElementsAre(Pair("alone_ns", "2000.000000"), Pair("layer", "7"),
                                           Pair("micro_batch", "2"), Pair("phase", "backward")));
  EXPECT_EQ(trace.slices[call].name, "all_gather");
  EXPECT_THAT(trace.slices[call].arguments, ElementsAre(Pair("algorithm", "ring"), Pair("bytes", "3000000"),
                                                        Pair("phase", "forward"), Pair("waited_ns", "3000.000000")));
}

TEST(PerfettoWriter, RoundsDownSoThatTouchingSlicesStayTouching) {
  HandTimeline hand(1);
  const auto ps = [](std::int64_t n) { return Time::picoseconds(n); };
  hand.kernel(0, {ps(0), ps(1999)});
  hand.kernel(0, {ps(1999), ps(2001)});
  hand.kernel(0, {ps(2001), ps(2999)});
  const auto trace = read_back(hand.program, hand.timeline);  // throws if slices overlap or go backwards
  std::vector<std::pair<std::uint64_t, std::uint64_t>> times;
  for (const auto& slice : trace.slices) times.emplace_back(slice.begin, slice.end);
  EXPECT_THAT(times, ElementsAre(Pair(0, 1), Pair(1, 2), Pair(2, 2)));
}

TEST(PerfettoWriter, DrawsAnArrowFromSendToReceiveWhicheverRowComesFirst) {
  HandTimeline hand(2);
  for (const bool send_is_first : {true, false}) {
    const auto meeting = hand.meeting(2, CollectiveKind::send_recv);
    for (const bool send : {send_is_first, !send_is_first}) {
      hand.meet(
          send ? 0 : 1, send ? OperationKind::send : OperationKind::recv, Cause::exposed_pp,
          {hand.timeline.makespan, send == send_is_first ? hand.timeline.makespan + 1_us : hand.timeline.makespan},
          meeting);
      hand.timeline.begin.back() = 1_us * meeting;
      hand.timeline.end.back() = 1_us * (meeting + 1);
    }
  }
  const auto trace = read_back(hand.program, hand.timeline);
  ASSERT_EQ(trace.arrows.size(), 2U);
  for (const auto& [from, to] : trace.arrows) {
    EXPECT_EQ(trace.slices[from].name, "send");
    EXPECT_EQ(trace.slices[to].name, "recv");
    EXPECT_EQ(trace.slices[from].begin, trace.slices[to].begin);
  }
}

TEST(PerfettoWriter, CountsTheMemoryOfEveryRoleInAllAndByPart) {
  HandTimeline hand(1);
  hand.program.roles[0].resident_bytes = {1000, 0, 0, 0, 0, 0};
  const auto kernel = hand.operation(0, StreamKind::compute, OperationKind::compute, Cause::gemm);
  hand.add(kernel, {1_us, 2_us}, {}, {{MemoryPart::activations, false, 50}, {MemoryPart::activations, true, -10}});
  hand.add(kernel, {2_us, 3_us}, {}, {{MemoryPart::buffers, false, 7}, {MemoryPart::buffers, true, -7}});
  const auto trace = read_back(hand.program, hand.timeline);
  std::map<std::string, std::vector<std::pair<std::uint64_t, std::int64_t>>> by_name;
  for (const auto& [track, name] : trace.counters) by_name[name] = trace.values.at(track);
  EXPECT_EQ(by_name.size(), 3U);  // no counter for parts that never change
  EXPECT_THAT(by_name["memory"], ElementsAre(Pair(0, 1000), Pair(1000, 1050), Pair(2000, 1047), Pair(3000, 1040)));
  EXPECT_THAT(by_name["memory: activations"], ElementsAre(Pair(0, 0), Pair(1000, 50), Pair(2000, 40)));
  EXPECT_THAT(by_name["memory: buffers"], ElementsAre(Pair(0, 0), Pair(2000, 7), Pair(3000, 0)));
}

TEST(PerfettoWriter, WritesEveryRowOfAPlayedProgramAtItsTimes) {
  testing::ToyProgram toy(3);
  for (int i = 0; i < 200; ++i) {
    const auto meeting = toy.meeting(Bytes{100 + 37 * i}, 3);
    for (RoleId role = 0; role < 3; ++role) {
      const RowId kernel = toy.kernel(role, Time::picoseconds(100 * (1 + (i * 7 + role * 13) % 11)));
      toy.meet(role, meeting, OperationKind::collective, {kernel});
    }
  }
  const auto timeline = play(toy.program, testing::toy_machine({10_ns, Bandwidth{1e11}, 10, 1.0}));
  const auto trace = read_back(toy.program, timeline);
  std::multimap<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> drawn, ran;
  for (const auto& slice : trace.slices) drawn.emplace(slice.track, std::pair(slice.begin, slice.end));
  for (RowId row = 0; row < toy.program.size(); ++row) {
    const auto ns = [](Time time) { return static_cast<std::uint64_t>(time.ps() / 1000); };
    ran.emplace(1 + 3 + toy.program.stream[row], std::pair(ns(timeline.begin[row]), ns(timeline.end[row])));
  }
  EXPECT_EQ(drawn, ran);
}

TEST(PerfettoWriter, TellsWhenTheFileCannotBeWritten) {
  HandTimeline hand(1);
  hand.kernel(0, {0_us, 1_us});
  std::ofstream out("/dev/full");
  EXPECT_THROW(write_perfetto(hand.program, hand.timeline, out), UserError);
}

TEST(PerfettoWriter, GivesSpansOfALaneThatOverlapTracksOfTheirOwn) {
  LaneGroup group;
  group.name = "a block";
  group.lanes = {"warp 0", "copies"};
  group.spans = {{1, "A", 10, 30}, {1, "B", 20, 40}, {1, "A", 30, 35}, {0, "wgmma", 5, 7}, {0, "nothing", 9, 9}};
  std::ostringstream out;
  write_perfetto({group, group}, out);
  const auto trace = testing::TraceReader::read(out.str());  // throws if slices of a track overlap
  EXPECT_THAT(trace.processes, ElementsAre(Pair(1, "a block"), Pair(5, "a block")));
  EXPECT_EQ(trace.threads.at(2), "warp 0");
  EXPECT_EQ(trace.threads.at(4), "copies (2)");
  EXPECT_EQ(trace.slices.size(), 8U);
}

TEST(PerfettoWriter, SaysThatADiskTakesNoPicture) {
  std::ofstream full("/dev/full");
  EXPECT_THROW(write_perfetto({LaneGroup{"a block", {"warp 0"}, {{0, "fma", 0, 1}}}}, full), UserError);
}

}  // namespace
}  // namespace warploom
