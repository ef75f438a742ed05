// SPDX-License-Identifier: Apache-2.0
// What-ifs: what each changes of a run made by hand, where every time is known, and what is said of mistakes.
#include "workloads/replay/what_if.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "sim/core/errors.hpp"
#include "tests/support/hand_capture.hpp"
#include "workloads/replay/prediction.hpp"

namespace warploom {
namespace {

using testing::HandCapture;
using testing::run_of_hand;
using testing::us;

const Library& library() {
  static const Library shipped({WARPLOOM_SOURCE_DIR "/configs"});
  return shipped;
}

std::string file_of(const std::string& text) {
  const std::string path =
      ::testing::TempDir() + "what_if_" + ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".yaml";
  std::ofstream(path) << text;
  return path;
}

ReplayPrediction predicted(const CapturedRun& run, const std::string& what_if, const std::string& on = {}) {
  ReplayQuestion question;
  question.what_if = file_of(what_if);
  question.on = on;
  return predict_replay(run, question, library());
}

std::string mistake(const CapturedRun& run, const std::string& what_if, const std::string& on = {}) {
  try {
    predicted(run, what_if, on);
  } catch (const UserError& error) {
    const std::string text = error.what();
    const auto name = text.find("what_if_");
    return name == std::string::npos ? text : text.substr(text.find(".yaml", name));
  }
  return "no mistake";
}

void on_device(HandCapture& hand, const std::string& name) { hand.capture.devices.push_back({0, name, 0, 0}); }

// Kernels of 50 us that the host launches long before they run, 1 us between two of them.
HandCapture queued(const std::vector<std::string>& names, const std::string& device = "NVIDIA A100-SXM4-80GB") {
  HandCapture hand;
  on_device(hand, device);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto at = static_cast<Nanoseconds>(i);
    hand.op(names[i], "7", (10 + 51 * at) * us, 50 * us,
            hand.call("cudaLaunchKernel", CallKind::launch, (4 + 10 * at) * us, 4 * us));
  }
  return hand;
}

// Two ranks of a node that call all-reduces of 16 MiB, 110 us each; the second comes 20 us late.
std::vector<HandCapture> two_ranks(const std::string& device = "NVIDIA A100-SXM4-80GB") {
  std::vector<HandCapture> ranks;
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    auto& hand = ranks.emplace_back(rank);
    on_device(hand, device);
    hand.capture.world_size = 2;
    for (int i = 0; i < 3; ++i) {
      hand.all_reduce((100 + 300 * i + 20 * rank) * us, (130 - 20 * rank) * us);
      hand.record("allreduce", 8 << 20, "BFloat16", {0, 1});
    }
  }
  return ranks;
}

TEST(WhatIf, AnEmptyFileAndOneReplicaChangeNothing) {
  auto ranks = two_ranks();
  const CapturedRun run = run_of_hand(ranks[0], ranks[1]);
  for (const char* text :
       {"", "# nothing\n", "{}", "data_parallel: {times: 1}", "data_parallel: {times: 1}\nscale: []"}) {
    const auto prediction = predicted(run, text);
    EXPECT_EQ(prediction.timeline.ready, run.timeline.ready) << text;
    EXPECT_EQ(prediction.timeline.end, run.timeline.end) << text;
    EXPECT_EQ(prediction.speed_up(), 1.0) << text;
    EXPECT_EQ(prediction.target, "the captured hardware") << text;
  }
}

TEST(WhatIf, ARemovedOperationHasNoRowAndTakesNoTime) {
  auto hand = queued({"a", "b", "a", "b", "a"});
  const CapturedRun run = run_of_hand(hand);
  const auto prediction = predicted(run, "remove: [{kernels: b}]");
  EXPECT_EQ(prediction.ranks[0].predicted, (3 * 50 + 2 * 1) * us);
  EXPECT_EQ(prediction.captured.row_of_op[0][1], none);
  EXPECT_EQ(prediction.captured.program.size(), run.captured.program.size() - 2);
  for (const auto& name : prediction.captured.program.names) EXPECT_NE(name, "b");
  EXPECT_EQ(prediction.retimed.classes[static_cast<std::size_t>(OpClass::other)].measured[3], 150 * us);
}

TEST(WhatIf, WhatWaitedForARemovedOperationWaitsForWhatThatWaitedFor) {
  HandCapture hand;
  on_device(hand, "NVIDIA A100-SXM4-80GB");
  const auto wait = [&](const std::string& from, const std::string& on, Nanoseconds record_at, Nanoseconds wait_at) {
    Sync sync;
    sync.start = wait_at;
    sync.record_correlation = hand.call("cudaEventRecord", CallKind::event_record, record_at, 1 * us);
    sync.correlation = hand.call("cudaStreamWaitEvent", CallKind::stream_wait, wait_at, 1 * us);
    sync.recorded_on = hand.stream(from);
    sync.stream = hand.stream(on);
    hand.capture.syncs.push_back(sync);
  };
  const auto launched = [&](const std::string& name, const std::string& on, Nanoseconds at, Nanoseconds start) {
    hand.op(name, on, start, 100 * us, hand.call("cudaLaunchKernel", CallKind::launch, at, 1 * us));
  };
  launched("first", "7", 0, 6 * us);
  wait("7", "8", 2 * us, 4 * us);
  launched("between", "8", 6 * us, 107 * us);
  wait("8", "9", 8 * us, 10 * us);
  launched("last", "9", 12 * us, 208 * us);
  const CapturedRun run = run_of_hand(hand);
  ASSERT_EQ(run.self.error, 0);
  const auto prediction = predicted(run, "remove: [{kernels: between}]");
  // `last` begins 1 us after `first` instead of after `between`: the event's lag.
  const RowId last = prediction.captured.row_of_op[0][2];
  const RowId first = prediction.captured.row_of_op[0][0];
  EXPECT_EQ(prediction.timeline.ready[last], prediction.timeline.end[first] + 1_us);
}

TEST(WhatIf, NothingThatIsLeftHasNoSpeedUp) {
  auto hand = queued({"a", "a"});
  const auto prediction = predicted(run_of_hand(hand), "remove: [{kernels: \"*\"}]");
  EXPECT_FALSE(prediction.speed_up().has_value());
  EXPECT_EQ(prediction.ranks[0].predicted, 0);
}

TEST(WhatIf, AddedKernelsComeAfterThoseThatAreNamed) {
  auto hand = queued({"a", "b", "a"});
  const auto prediction = predicted(run_of_hand(hand), "add: [{after: a, duration: 20 us}]");
  EXPECT_EQ(prediction.ranks[0].predicted, (3 * 50 + 2 * 20 + 4 * 1) * us);
}

TEST(WhatIf, RemovalOfAllMembersOfACollectiveLetsTheRanksGo) {
  auto ranks = two_ranks();
  ranks[0].kernel("gemm", "7", 1000 * us, 10 * us, 6 * us);
  const CapturedRun run = run_of_hand(ranks[0], ranks[1]);
  const auto prediction = predicted(run, "remove: [{kernels: \"*AllReduce*\"}]");
  EXPECT_TRUE(prediction.captured.program.meetings.empty());
  EXPECT_EQ(prediction.ranks[0].predicted, 10 * us);
  EXPECT_EQ(prediction.ranks[0].exposed_communication, 0);
}

TEST(WhatIf, AScaledCollectiveIsScaledOnTheTargetToo) {
  auto ranks = two_ranks();
  const CapturedRun run = run_of_hand(ranks[0], ranks[1]);
  const auto of_last = [](const ReplayPrediction& prediction) {
    const RowId row = prediction.captured.row_of_op[1][2];
    return prediction.timeline.end[row] - prediction.timeline.begin[row];
  };
  const Time whole = of_last(predicted(run, "", "dgx_a100"));
  const Time half = of_last(predicted(run, "scale: [{kernels: \"*AllReduce*\", by: 0.5}]", "dgx_a100"));
  EXPECT_NEAR(half / whole, 0.5, 1e-3);
  EXPECT_EQ(of_last(predicted(run, "scale: [{kernels: \"*AllReduce*\", by: 0}]", "dgx_a100")), Time::zero());
}

// ---- Hardware -----------------------------------------------------------------------------------------------------

TEST(WhatIf, AnotherAlgorithmMakesAnotherTransferOnTheSourcesHardware) {
  auto ranks = two_ranks();
  const CapturedRun run = run_of_hand(ranks[0], ranks[1]);
  const auto ring = predicted(run, "collective: [{kind: all_reduce, algorithm: ring, protocol: simple}]");
  const auto tree = predicted(run, "collective: [{algorithm: tree, protocol: ll}]");
  ASSERT_EQ(ring.timeline.plans.size(), 1U);
  EXPECT_EQ(ring.timeline.plans[0].algorithm, "ring");
  EXPECT_EQ(ring.timeline.plans[0].protocol, "simple");
  EXPECT_EQ(tree.timeline.plans[0].algorithm, "tree");
  EXPECT_EQ(tree.timeline.plans[0].protocol, "ll");
  EXPECT_GT(tree.ranks[1].predicted, ring.ranks[1].predicted);
}

TEST(WhatIf, ALowerClockSlowsArithmeticAndNoStream) {
  auto compute = queued({"ampere_bf16_s16816gemm_bf16_128x128"});
  compute.capture.device_ops[0].duration = 2000 * us;
  const CapturedRun gemm = run_of_hand(compute);
  const auto whole = predicted(gemm, "clock: 1.41 GHz");
  const auto half = predicted(gemm, "clock: 0.705 GHz");
  EXPECT_NEAR(static_cast<double>(half.ranks[0].predicted) / static_cast<double>(whole.ranks[0].predicted), 2, 0.3);
  auto stream = queued({"vectorized_elementwise_kernel"});
  stream.capture.device_ops[0].duration = 2000 * us;
  const auto slow = predicted(run_of_hand(stream), "clock: 0.9 GHz");
  EXPECT_NEAR(static_cast<double>(slow.ranks[0].predicted) / (2000. * us), 1, 0.1);
}

TEST(WhatIf, KeysOfTheClusterAreTakenAsOnTheCommandLine) {
  auto hand = queued({"vectorized_elementwise_kernel"});
  hand.capture.device_ops[0].duration = 2000 * us;
  const CapturedRun run = run_of_hand(hand);
  ReplayQuestion question;
  question.overrides = {"device.memory.bandwidth=4 TB/s"};
  const auto by_command = predict_replay(run, question, library());
  const auto by_file = predicted(run, "set: [\"device.memory.bandwidth=4 TB/s\"]");
  EXPECT_EQ(by_file.ranks[0].predicted, by_command.ranks[0].predicted);
  EXPECT_LT(by_file.ranks[0].predicted, 2000 * us);
}

TEST(WhatIf, MoreReplicasGrowOnTheRecordedHardware) {
  auto ranks = two_ranks();
  const CapturedRun run = run_of_hand(ranks[0], ranks[1]);
  const auto prediction = predicted(run, "data_parallel: {times: 4, group: default_pg}");
  EXPECT_EQ(prediction.target_device, "a100_sxm");
  ASSERT_EQ(prediction.captured.program.groups.size(), 1U);
  EXPECT_EQ(prediction.captured.program.groups[0].member_count(), 8);
  EXPECT_GT(prediction.ranks[1].predicted, run.self.ranks[1].measured.length());
}

// ---- Mistakes -----------------------------------------------------------------------------------------------------

TEST(WhatIfMistakes, SayWhereTheyStandAndWhatIsNear) {
  auto ranks = two_ranks();
  const CapturedRun run = run_of_hand(ranks[0], ranks[1]);
  EXPECT_EQ(mistake(run, "scale: [{kernels: \"*AllReduse*\", by: 0.5}]"),
            ".yaml:1:19: error: `scale[0].kernels`: no device operation is called `*AllReduse*`\n"
            "  hint: did you mean `*AllReduce*`?");
  EXPECT_EQ(mistake(run, "straggler:\n  - {rank: 7, slow_down: 2}"),
            ".yaml:2:12: error: `straggler[0].rank`: rank 7 is not among the captures\n  hint: captured: 0, 1");
  EXPECT_EQ(mistake(run, "even_out: [0, 9]"),
            ".yaml:1:15: error: `even_out[1]`: rank 9 is not among the captures\n  hint: captured: 0, 1");
  EXPECT_EQ(mistake(run, "data_parallel: {times: 2, group: default_pq}"),
            ".yaml:1:34: error: `data_parallel.group`: no process group is described as `default_pq`\n"
            "  hint: did you mean `default_pg`?");
  EXPECT_EQ(mistake(run, "collective: [{kind: all_gather, algorithm: ring}]"),
            ".yaml:1:21: error: `collective[0].kind`: no collective of the run that can be planned is `all_gather`\n"
            "  hint: there are all_reduce");
  EXPECT_EQ(mistake(run, "remove: [{kernels: \"*AllReduce*\"}]\nscale: [{kernels: \"*AllReduce*\", by: 2}]"),
            ".yaml:2:19: error: `scale[0].kernels`: no device operation is called `*AllReduce*`\n"
            "  hint: those that are called so are removed: `remove` comes first");
}

TEST(WhatIfMistakes, OfTheHardwareStandInTheFileToo) {
  auto ranks = two_ranks();
  const CapturedRun run = run_of_hand(ranks[0], ranks[1]);
  EXPECT_NE(mistake(run, "clock: 9 GHz").find(".yaml:1:8: error: `clock`: "), std::string::npos)
      << mistake(run, "clock: 9 GHz");
  EXPECT_NE(mistake(run, "set: [\"network.nik.bandwidth=400 Gbps\"]").find(".yaml:1:7: error: `set[0]`: "),
            std::string::npos)
      << mistake(run, "set: [\"network.nik.bandwidth=400 Gbps\"]");
  EXPECT_NE(mistake(run, "set: [nothing]").find(".yaml:1:7: error: `set[0]`: expected `key=value`"), std::string::npos);
  EXPECT_NE(mistake(run, "collective: [{kind: all_reduce, algorithm: rign}]")
                .find("`collective[0].algorithm`: there is no choice `rign`\n  hint: did you mean `ring`?"),
            std::string::npos)
      << mistake(run, "collective: [{kind: all_reduce, algorithm: rign}]");
  EXPECT_NE(mistake(run, "collective: [{algorithm: pairwise}]")
                .find("`collective[0]`: all_reduce cannot be done so by the ranks"),
            std::string::npos)
      << mistake(run, "collective: [{algorithm: pairwise}]");
}

TEST(WhatIfMistakes, HardwareThatIsNotKnownIsAskedFor) {
  auto ranks = two_ranks("a device of mine");
  const CapturedRun run = run_of_hand(ranks[0], ranks[1]);
  for (const char* text : {"clock: 1 GHz", "collective: [{algorithm: ring}]", "set: [\"device.power.limit=300 W\"]",
                           "data_parallel: {times: 2, group: \"*\"}"}) {
    EXPECT_NE(mistake(run, text).find("`a device of mine` is no device of the library"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace warploom
