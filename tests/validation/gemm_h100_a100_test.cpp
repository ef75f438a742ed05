// SPDX-License-Identifier: Apache-2.0
// The analytic timer against measured kernels of H100 and A100 (where WARPLOOM_DATA has them) and against published
// figures.
//
// Errors are of all rows of a class; scripts/calibrate_kernels.py also prints those of the half that no constant was
// fitted on, which differ by less than a point. The roofline to beat has three parameters a device, fitted on the same
// campaign: t = t0 + max(FLOPs / (a peak), bytes / (b HBM bandwidth)).
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>

#include "hw_models/analytic_timer.hpp"
#include "tests/validation/measured_rows.hpp"

namespace warploom {
namespace {

using validation::MeasuredTable;

DeviceSpec device_named(const std::string& name) {
  return read<DeviceSpec>(load_config(name, {}, Library({WARPLOOM_SOURCE_DIR "/configs"})));
}

// Mean absolute and mean error of predictions over measurements.
class Errors {
 public:
  void add(double predicted, double measured) {
    const double error = predicted / measured - 1;
    absolute_ += std::abs(error);
    signed_ += error;
    ++count_;
  }
  int count() const { return count_; }
  double mape() const { return absolute_ / count_; }
  double bias() const { return signed_ / count_; }

 private:
  double absolute_ = 0;
  double signed_ = 0;
  int count_ = 0;
};

struct Roofline {
  double t0_us;
  double tensor_share;
  double memory_share;
};

struct GemmCase {
  const char* name;  // in our library
  const char* measured;
  Roofline roofline;
  double llm_gate;    // n, k >= 1,024, m >= 512
  double large_bias;  // of those with m >= 4,096
};

class MeasuredKernels : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("WARPLOOM_DATA") == nullptr)
      GTEST_SKIP() << "measured kernels are not here: set WARPLOOM_DATA to their folder";
  }
  static MeasuredTable table(const std::string& file) {
    return MeasuredTable(std::string(std::getenv("WARPLOOM_DATA")) + "/measured/" + file);
  }
};

TEST_F(MeasuredKernels, GemmsAreWithinTheirGatesAndBeatTheRooflineInEveryClass) {
  const GemmCase cases[] = {{"h100_sxm", "h100_sxm", {2.83, .757, .800}, 0.06, 0.02},
                            {"a100_sxm_80gb", "a100_sxm", {5.15, .732, .691}, 0.06, 0.02}};
  const MeasuredTable gemms = table("gemm.csv");
  for (const GemmCase& test : cases) {
    const DeviceSpec device = device_named(test.name);
    std::map<std::string, Errors> ours;
    std::map<std::string, Errors> rooflines;
    Errors large;
    for (const auto& row : gemms.rows()) {
      if (row.text("device") != test.measured) continue;
      const double m = row.number("m");
      const double n = row.number("n");
      const double k = row.number("k");
      const double measured = row.number("latency_us");
      const std::string line = "gemm bf16 " + row.text("m") + " " + row.text("n") + " " + row.text("k");
      const double predicted = (validation::cost_of_row(line, device).duration + device.launch.graph).microseconds();
      const double roofline =
          test.roofline.t0_us +
          1e6 * std::max(2 * m * n * k / (test.roofline.tensor_share * device.peak(DataType::bf16).value()),
                         2 * (m * n + n * k + m * k) / (test.roofline.memory_share * device.memory.bandwidth.value()));
      const std::string name = n < 1024 || k < 1024 ? "small n or k" : m >= 512 ? "m >= 512" : "m < 512";
      ours[name].add(predicted, measured);
      rooflines[name].add(roofline, measured);
      if (name == "m >= 512" && m >= 4096) large.add(predicted, measured);
    }
    for (const auto& [name, errors] : ours) {
      EXPECT_LT(errors.mape(), rooflines[name].mape())
          << test.name << ", " << name << ": " << errors.count() << " rows";
      RecordProperty(std::string(test.name) + " " + name, fmt::format("{:.1f}%", 100 * errors.mape()));
    }
    EXPECT_GT(ours["m >= 512"].count(), 300) << test.name;
    EXPECT_LT(ours["m >= 512"].mape(), test.llm_gate) << test.name;
    EXPECT_LT(ours["m < 512"].mape(), 0.10) << test.name;
    EXPECT_LT(std::abs(large.bias()), test.large_bias) << test.name << ": large training products";
  }
}

TEST_F(MeasuredKernels, CausalPrefillFrom1024TokensIsWithinTenPercent) {
  const MeasuredTable attention = table("attention.csv");
  for (const auto& [name, measured_name] :
       {std::pair{"h100_sxm", "h100_sxm"}, std::pair{"a100_sxm_80gb", "a100_sxm"}}) {
    const DeviceSpec device = device_named(name);
    Errors errors;
    for (const auto& row : attention.rows()) {
      if (row.text("device") != measured_name || row.text("phase") != "prefill" || row.text("kv_dtype") != "bf16" ||
          row.text("window") != "0" || row.text("kernel").find("fa4") != std::string::npos ||
          row.number("q_len") < 1024) {
        continue;
      }
      const std::string line = "attention bf16 " + row.text("batch") + " " + row.text("q_heads") + " " +
                               row.text("kv_heads") + " " + row.text("q_len") + " " + row.text("kv_len") + " " +
                               row.text("head_dim");
      errors.add((validation::cost_of_row(line, device).duration + validation::serving_overhead).microseconds(),
                 row.number("latency_us"));
    }
    EXPECT_GT(errors.count(), 200);
    EXPECT_LT(errors.mape(), 0.10) << name;
    EXPECT_LT(std::abs(errors.bias()), 0.03) << name;
  }
}

// Tensors of 10 MB and more; the additions of 100 MB and more, as smaller ones find their inputs in the L2.
TEST_F(MeasuredKernels, LargeMemoryBoundOperatorsAreWithin15Percent) {
  const MeasuredTable operators = table("llm_layer_ops.csv");
  for (const auto& [name, measured_name] : {std::pair{"h100_sxm", "h100"}, std::pair{"a100_sxm_80gb", "a100"}}) {
    const DeviceSpec device = device_named(name);
    std::map<std::string, Errors> classes;
    for (const auto& row : operators.rows()) {
      if (row.text("hw") != measured_name) continue;
      const auto line = validation::line_of_layer_operator(row);
      if (line)
        classes[line->substr(0, line->find(' '))].add(validation::cost_of_row(*line, device).duration.microseconds(),
                                                      row.number("latency_us"));
    }
    EXPECT_GE(classes.size(), 5u);
    for (const auto& [family, errors] : classes)
      EXPECT_LT(errors.mape(), 0.15) << name << " " << family << ": " << errors.count() << " rows";
  }
}

// ---- Published figures, typed in ------------------------------------------------------------------------------------

// arXiv:2407.08608 (FlashAttention-3), figures 5 and 6, H100 SXM5, FP16: batch x length = 16,384, heads x head dim =
// 2,048, lengths 512 to 16,384. FLOPs there: 4 x length^2 x head dim x heads forward, halved when causal, 2.5 times
// that backward.
struct PublishedAttention {
  bool backward;
  bool causal;
  int head_dim;
  double tera_flops[6];
};
constexpr PublishedAttention flash_attention_3[] = {
    {false, false, 64, {333, 392, 460, 476, 496, 497}},  {false, true, 64, {197, 265, 371, 420, 460, 473}},
    {false, false, 128, {467, 565, 625, 638, 646, 648}}, {false, true, 128, {292, 423, 521, 579, 602, 616}},
    {false, false, 256, {482, 639, 707, 736, 746, 756}}, {false, true, 256, {286, 427, 537, 612, 628, 642}},
    {true, false, 64, {272, 363, 422, 453, 472, 474}},   {true, false, 128, {316, 424, 501, 542, 559, 561}},
};

double attention_tera_flops(const PublishedAttention& figure, std::int64_t length, const DeviceSpec& device) {
  const std::int64_t heads = 2048 / figure.head_dim;
  FlashAttentionShape shape{.batch = 16384 / length,
                            .query_heads = heads,
                            .kv_heads = heads,
                            .query_length = length,
                            .kv_length = length,
                            .head_dim = figure.head_dim,
                            .causal = figure.causal,
                            .backward = figure.backward,
                            .type = DataType::fp16};
  const auto s = static_cast<double>(length);
  const double flops = (figure.backward ? 10.0 : 4.0) * s * 16384 * 2048 / (figure.causal ? 2 : 1);
  return flops / AnalyticTimer(device, LaunchMode::stream).cost(flash_attention(shape)).duration.seconds() / 1e12;
}

TEST(PublishedKernels, FlashAttention3FollowsItsPaperFrom1024Tokens) {
  const DeviceSpec device = device_named("h100_sxm");
  Errors errors;
  for (const auto& figure : flash_attention_3) {
    for (int i = 1; i < 6; ++i) {
      const double ours = attention_tera_flops(figure, 512 << i, device);
      EXPECT_NEAR(ours / figure.tera_flops[i], 1, 0.14)
          << "head dim " << figure.head_dim << ", length " << (512 << i) << (figure.causal ? ", causal" : "")
          << (figure.backward ? ", backward" : "");
      errors.add(ours, figure.tera_flops[i]);
    }
  }
  EXPECT_LT(errors.mape(), 0.06);
}

// "up to 740 TFLOP/s": the mean over 4K to 16K tokens of head dim 256 is 746; the same figure has 648 for head dim 128.
TEST(PublishedKernels, FlashAttention3AtLongSequencesIsWithinTenPercent) {
  const DeviceSpec device = device_named("h100_sxm");
  EXPECT_NEAR(attention_tera_flops({false, false, 256, {}}, 16384, device) / 740, 1, 0.10);
  EXPECT_NEAR(attention_tera_flops({false, false, 128, {}}, 16384, device) / 648, 1, 0.10);
}

// arXiv:2307.08691 (FlashAttention-2), section 4.1, A100 SXM4: backward up to 63% of peak.
TEST(PublishedKernels, FlashAttention2BackwardReaches63PercentOnA100) {
  const DeviceSpec device = device_named("a100_sxm_80gb");
  EXPECT_NEAR(attention_tera_flops({true, false, 128, {}}, 16384, device) / (0.63 * 312), 1, 0.10);
}

// stas00/ml-engineering (commit 744d01e): the best BF16 product that a search over shapes finds.
TEST(PublishedKernels, MaximumAchievableMatrixProductIsNotExceeded) {
  const auto tera_flops = [](const DeviceSpec& device, std::int64_t m, std::int64_t n, std::int64_t k) {
    const KernelCost cost = AnalyticTimer(device, LaunchMode::graph).cost(gemm({.m = m, .n = n, .k = k}));
    return cost.flops.value() / cost.duration.seconds() / 1e12;
  };
  for (const std::int64_t m : {2048, 4096, 8192, 16384}) {
    for (const std::int64_t k : {2048, 8192, 16384}) {
      EXPECT_LT(tera_flops(device_named("h100_sxm"), m, 8192, k), 794);
      EXPECT_LT(tera_flops(device_named("a100_sxm_80gb"), m, 8192, k), 271);
    }
  }
  EXPECT_GT(tera_flops(device_named("h100_sxm"), 8192, 8192, 8192), 0.9 * 794);
  EXPECT_GT(tera_flops(device_named("a100_sxm_80gb"), 8192, 8192, 8192), 0.9 * 271);
}

}  // namespace
}  // namespace warploom
