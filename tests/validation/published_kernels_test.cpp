// SPDX-License-Identifier: Apache-2.0
// The analytic timer against published figures of attention.
#include <gtest/gtest.h>

#include <cmath>

#include "hw_models/analytic_timer.hpp"
#include "hw_models/kernels/attention.hpp"

namespace warploom {
namespace {

DeviceSpec device_named(const std::string& name) {
  return read<DeviceSpec>(load_config(name, {}, Library({WARPLOOM_SOURCE_DIR "/configs"})));
}

// Mean absolute error of predictions over measurements.
class Errors {
 public:
  void add(double predicted, double measured) {
    absolute_ += std::abs(predicted / measured - 1);
    ++count_;
  }
  double mape() const { return absolute_ / count_; }

 private:
  double absolute_ = 0;
  int count_ = 0;
};

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
  AttentionShape shape{.batch = 16384 / length,
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
  return flops / AnalyticTimer(device, LaunchMode::stream).cost(attention(shape)).duration.seconds() / 1e12;
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
  const DeviceSpec device = device_named("a100_sxm");
  EXPECT_NEAR(attention_tera_flops({true, false, 128, {}}, 16384, device) / (0.63 * 312), 1, 0.10);
}

}  // namespace
}  // namespace warploom
