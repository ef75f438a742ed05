// SPDX-License-Identifier: Apache-2.0
// The contract for scripts: which keys there are, and that the numbers add up.
#include "bindings/report/report_json.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/hand_timeline.hpp"
#include "tests/support/toy_machine.hpp"

namespace warploom {
namespace {

using namespace warploom::literals;
using nlohmann::json;
using testing::HandTimeline;

Report example() {
  HandTimeline hand(2, 3);
  const RowId work = hand.kernel(0, {.begin = 0_us, .end = 5_us, .alone = 4_us});
  hand.meet(0, OperationKind::collective, Cause::exposed_dp,
            {.begin = 5_us, .end = 7_us, .release = Release::row, .by = work}, hand.meeting(1));
  hand.kernel(1, {0_us, 3_us}, Cause::attention);
  hand.program.roles[1].resident_bytes = {100, 200, 300, 400, 500, 600};
  hand.program.worth.tokens = 12;
  return make_report(hand.program, testing::toy_machine(), hand.timeline);
}

TEST(ReportJson, HasEveryKeyOfTheContract) {
  const auto parsed = json::parse(to_json(example()));
  for (const char* key : {"schema",
                          "version",
                          "config_hash",
                          "seed",
                          "step_time_s",
                          "tokens_per_s",
                          "tokens_per_s_per_device",
                          "tflops_per_device",
                          "flop_convention",
                          "mfu",
                          "hfu",
                          "breakdown",
                          "bubble_share",
                          "bubble_over_ideal",
                          "exposed_comm_share",
                          "memory",
                          "devices",
                          "folding",
                          "assumptions",
                          "fallbacks",
                          "warnings",
                          "simulator",
                          "critical_path",
                          "roles"}) {
    EXPECT_TRUE(parsed.contains(key)) << key;
  }
  for (const char* key : {"role", "parts", "peak_bytes", "capacity_raw_bytes", "capacity_usable_bytes", "fits"}) {
    EXPECT_TRUE(parsed["memory"][0].contains(key)) << key;
  }
  for (const char* key : {"weights", "gradients", "optimizer", "activations", "buffers", "other"}) {
    EXPECT_TRUE(parsed["memory"][0]["parts"].contains(key)) << key;
  }
  for (const char* key : {"wall_s", "peak_rss_bytes", "operations", "events", "roles"}) {
    EXPECT_TRUE(parsed["simulator"].contains(key)) << key;
  }
  EXPECT_EQ(parsed["schema"], "warploom.report/1");
  EXPECT_TRUE(parsed["assumptions"].is_array());
}

TEST(ReportJson, AddsBreakdownAndCriticalPathUpToTheStep) {
  const auto parsed = json::parse(to_json(example()));
  const double step = parsed["step_time_s"];
  EXPECT_EQ(step, 7e-6);
  std::vector<json> lists = {parsed["breakdown"], parsed["critical_path"]["by_cause"]};
  for (const auto& role : parsed["roles"]) lists.push_back(role["breakdown"]);
  EXPECT_EQ(lists.size(), 4U);
  for (const auto& list : lists) {
    double seconds = 0;
    double share = 0;
    for (const auto& entry : list) {
      EXPECT_NE(entry["seconds"], 0);
      seconds += entry["seconds"].get<double>();
      share += entry["share"].get<double>();
    }
    EXPECT_NEAR(seconds, step, 1e-18);
    EXPECT_NEAR(share, 1, 1e-12);
  }
}

TEST(ReportJson, GivesMemoryInBytesByPart) {
  const auto parsed = json::parse(to_json(example()));
  EXPECT_EQ(parsed["memory"][1]["role"], "role1");
  EXPECT_EQ(parsed["memory"][1]["parts"]["optimizer"], 300);
  EXPECT_EQ(parsed["memory"][1]["peak_bytes"], 2100);
  EXPECT_EQ(parsed["memory"][1]["capacity_raw_bytes"], 1'000'000);
  EXPECT_EQ(parsed["memory"][1]["fits"], true);
}

TEST(ReportJson, SurvivesTextThatIsNotUtf8) {
  auto report = example();
  report.name = "bad \xff name";
  EXPECT_FALSE(json::parse(to_json(report))["name"].get<std::string>().empty());
}

}  // namespace
}  // namespace warploom
