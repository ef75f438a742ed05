// SPDX-License-Identifier: Apache-2.0
// Predictions rest on what was measured: collectives and kernels anchored to their source, rank by rank.
#include "workloads/replay/prediction.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "network/collective_estimate.hpp"
#include "tests/support/hand_capture.hpp"
#include "workloads/network_lookup.hpp"

namespace warploom {
namespace {

using testing::HandCapture;
using testing::run_of_hand;
using testing::us;

constexpr std::int64_t elements = 8 << 20;

const Library& library() {
  static const Library shipped({WARPLOOM_SOURCE_DIR "/configs"});
  return shipped;
}

// Two ranks whose all-reduces of 16 MiB take `transfer`, the first 20 us early.
std::vector<HandCapture> two_ranks(Nanoseconds transfer) {
  std::vector<HandCapture> ranks;
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    auto& hand = ranks.emplace_back(rank);
    hand.capture.devices.push_back({0, "NVIDIA A100-SXM4-80GB", 0, 0});
    hand.capture.world_size = 2;
    for (int i = 0; i < 3; ++i) {
      hand.all_reduce((100 + 5000 * i + 20 * rank) * us, transfer + 20 * us * (1 - rank));
      hand.record("allreduce", elements, "BFloat16", {0, 1});
    }
  }
  return ranks;
}

ReplayPrediction predicted(const CapturedRun& run, const std::string& on) {
  ReplayQuestion question;
  question.on = on;
  return predict_replay(run, question, library());
}

Time planned(const std::string& cluster) {
  const FoundNetwork found = load_network("clusters/" + cluster, 2, {}, library());
  Call call;
  call.bytes = Bytes(2 * elements);
  return estimate_chosen(found.network, call, first_ranks(2)).duration;
}

std::int64_t count(const ReplayPrediction& prediction, Basis basis) {
  return prediction.retimed.classes[static_cast<std::size_t>(OpClass::communication)]
      .count[static_cast<std::size_t>(basis)];
}

double seconds_of_first(const ReplayPrediction& prediction) {
  const RowId row = prediction.captured.row_of_op[1][0];
  return (prediction.timeline.end[row] - prediction.timeline.begin[row]).seconds();
}

TEST(AnchoredCollectives, TakeTheirMeasuredTransferTimesTheRatioOfPlans) {
  const double source = planned("dgx_a100").seconds();
  for (const double measured : {source / 3, source, source * 3}) {
    const auto transfer = static_cast<Nanoseconds>(measured * 1e9);
    auto ranks = two_ranks(transfer);
    const CapturedRun run = run_of_hand(ranks[0], ranks[1]);
    const auto there = predicted(run, "dgx_h100");
    EXPECT_EQ(count(there, Basis::anchored), 6);  // three collectives of two ranks
    EXPECT_NEAR(seconds_of_first(there) / (measured * planned("dgx_h100").seconds() / source), 1, 1e-3);
    EXPECT_NEAR(seconds_of_first(predicted(run, "dgx_a100")) / measured, 1, 1e-3);
  }
}

TEST(AnchoredCollectives, ElsewhereFourTimesThePlanIsTheMostAndCounted) {
  for (const double factor : {0.2, 5.0}) {
    auto ranks = two_ranks(static_cast<Nanoseconds>(planned("dgx_a100").seconds() * factor * 1e9));
    const CapturedRun run = run_of_hand(ranks[0], ranks[1]);
    const auto prediction = predicted(run, "dgx_h100");
    EXPECT_NEAR(seconds_of_first(prediction) / planned("dgx_h100").seconds(), factor < 1 ? 0.25 : 4, 1e-3);
    bool is_said = false;
    for (const auto& note : prediction.retimed.notes) is_said |= note.starts_with("3 collectives took less than 1/4");
    EXPECT_TRUE(is_said);
    // At home it takes what it took.
    const auto home = predicted(run, "dgx_a100");
    EXPECT_NEAR(seconds_of_first(home) / (planned("dgx_a100").seconds() * factor), 1, 1e-3);
    EXPECT_EQ(home.relative_error, run.self.error);
  }
}

TEST(AnchoredCollectives, NeedAllTheirMembers) {
  auto ranks = two_ranks(200 * us);
  const auto prediction = predicted(run_of_hand(ranks[1]), "dgx_h100");
  EXPECT_GT(count(prediction, Basis::modelled), 0);
  EXPECT_EQ(count(prediction, Basis::anchored), 0);
}

TEST(Replay, RanksOfDifferentDevicesAreRetimedFromTheirOwn) {
  std::vector<HandCapture> ranks;
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    auto& hand = ranks.emplace_back(rank);
    hand.capture.devices.push_back({0, rank == 0 ? "NVIDIA H100 80GB HBM3" : "NVIDIA A100-SXM4-80GB", 0, 0});
    hand.kernel("vectorized_elementwise_kernel", "7", 100 * us, 2000 * us, 6 * us);
  }
  const CapturedRun run = run_of_hand(ranks[0], ranks[1]);
  const auto prediction = predicted(run, "dgx_h100");
  EXPECT_EQ(prediction.ranks[0].predicted, 2000 * us);
  EXPECT_NEAR(static_cast<double>(prediction.ranks[1].predicted) / (2000. * us), 2.039 / 3.35, 0.05);
  EXPECT_EQ(prediction.source, "a100_sxm and h100_sxm");
  bool is_said = false;
  for (const auto& note : prediction.retimed.notes) {
    is_said |= note.find("1 capture on a100_sxm, 1 capture on h100_sxm") != std::string::npos;
  }
  EXPECT_TRUE(is_said);
}

// Eight ranks of Megatron on a DGX A100, on a DGX A100 again: as they were.
TEST(Replay, OnItsOwnClusterARunIsAsMeasured) {
  const char* data = std::getenv("WARPLOOM_DATA");
  const std::string folder =
      data == nullptr ? std::string() : std::string(data) + "/traces/astra_history/megatron-tp8/megatron_kineto_";
  if (data == nullptr || !std::filesystem::exists(folder + "0.json.gz"))
    GTEST_SKIP() << "WARPLOOM_DATA has no Megatron";
  std::vector<std::string> paths;
  for (int rank = 0; rank < 8; ++rank) paths.push_back(folder + std::to_string(rank) + ".json.gz");
  const CapturedRun run = understand(paths);
  const auto prediction = predicted(run, "dgx_a100");
  for (std::size_t i = 0; i < run.matching.collectives.size(); ++i) {
    if (run.matching.collectives[i].transfer < 20 * us) continue;  // less than any plan
    const auto& member = run.matching.collectives[i].members.front();
    const RowId row = prediction.captured.row_of_op[member.capture][member.op];
    const double played = (prediction.timeline.end[row] - prediction.timeline.begin[row]).seconds() * 1e9;
    EXPECT_NEAR(played / static_cast<double>(run.matching.collectives[i].transfer), 1, 0.01);
  }
  for (const auto& rank : prediction.ranks) {
    EXPECT_NEAR(static_cast<double>(rank.predicted) / static_cast<double>(rank.unchanged), 1, 1e-3);
  }
}

}  // namespace
}  // namespace warploom
