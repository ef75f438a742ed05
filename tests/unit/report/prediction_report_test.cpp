// SPDX-License-Identifier: Apache-2.0
// Reports of single kernels and collectives, and descriptions of models: every pair of numbers is of one thing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bindings/report/collective_report.hpp"
#include "bindings/report/kernel_report.hpp"
#include "bindings/report/model_description.hpp"
#include "hw_models/kernels/gemm.hpp"
#include "hw_models/kernels/moe.hpp"
#include "workloads/models/hugging_face.hpp"

namespace warploom {
namespace {

using namespace literals;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

KernelReport report_of(const Kernel& kernel) {
  KernelReport report;
  report.device = "mine";
  report.power_limit = 700_W;
  report.prediction.kernel = kernel;
  report.prediction.cost.duration = 1_ms;
  report.prediction.cost.hbm_bytes = 2_GB;
  report.prediction.cost.power = 836_W;
  report.prediction.bytes = 1_GB;
  report.prediction.roofline = 500_us;
  return report;
}

Kernel product() {
  GemmShape shape;
  shape.m = shape.n = shape.k = 64;
  return gemm(shape);
}

TEST(KernelReport, SaysThatPowerBeyondTheLimitIsABurst) {
  KernelReport report = report_of(product());
  EXPECT_THAT(to_text(report), HasSubstr("836 W of 700 W, a burst\n"));
  report.prediction.cost.power = 300_W;
  EXPECT_THAT(to_text(report), HasSubstr("300 W of 700 W\n"));
}

TEST(KernelReport, GivesEachNumberOfBytesItsOwnPace) {
  const KernelReport report = report_of(product());
  EXPECT_THAT(to_text(report), HasSubstr("1 GB at least, at 1 TB/s; 2 GB moved, at 2 TB/s"));
  const Json json = Json::parse(to_json(report));
  EXPECT_DOUBLE_EQ(json["achieved_gb_per_s"], 1000);
  EXPECT_DOUBLE_EQ(json["moved_gb_per_s"], 2000);
}

TEST(KernelReport, SaysThatNothingOfTheClassWasMeasured) {
  const KernelReport report = report_of(product());
  EXPECT_THAT(to_text(report), HasSubstr("no measured rows of this class"));
  EXPECT_TRUE(Json::parse(to_json(report))["error_band"].is_null());
}

TEST(KernelReport, ShowsTheUsualNumberOfExpertsThatItTook) {
  MoeShape shape;
  shape.tokens = 16;
  shape.hidden = shape.intermediate = 64;
  shape.top_k = 2;
  shape.experts = shape.local_experts = 8;
  EXPECT_THAT(to_text(report_of(moe(shape))), HasSubstr("top_k 2, experts 8, local_experts 8"));
}

TEST(CollectiveReport, HasNoEstimateWhereTheLibraryHasNone) {
  CollectiveReport report;
  report.call.bytes = 1_MB;
  report.ranks = 16;
  report.has_explanation = true;
  report.estimate.duration = 1_ms;
  CollectiveCandidate own;
  own.algorithm = "hierarchical";
  own.protocol = "simple";
  own.duration = 1_ms;
  report.estimate.candidates = {own};
  EXPECT_THAT(to_text(report), Not(HasSubstr(" 0 s")));
  EXPECT_THAT(to_text(report), HasSubstr("no measured rows of this class"));
  EXPECT_TRUE(Json::parse(to_json(report))["candidates"][0]["library_estimate_us"].is_null());
}

TEST(ModelDescription, ShowsTheSizesOfAMixtureOfExperts) {
  const Model model = read_hugging_face(WARPLOOM_SOURCE_DIR "/configs/models/mixtral_8x7b.json");
  const std::string text = to_text(describe_model("mixtral_8x7b", model));
  for (const char* line : {"layers", "hidden", "heads", "KV heads", "head size", "experts", "experts a token",
                           "expert width", "vocabulary", "parameters", "active", "KV cache"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, HasSubstr(std::to_string(2 * 32 * 8 * 128 * 2) + " B a token"));
}

}  // namespace
}  // namespace warploom
