// SPDX-License-Identifier: Apache-2.0
// Llama 3 405B on 8,192 and 16,384 H100 against the published steps (arXiv:2407.21783, Table 4; scenarios T1 and T2),
// and the attention kernel of its time against the published utilisation. Nothing in the product is fitted to these
// numbers.
#include <gtest/gtest.h>

#include <cmath>

#include "hw_models/analytic_timer.hpp"
#include "hw_models/kernels/attention.hpp"
#include "sim/core/config.hpp"
#include "sim/core/config_value.hpp"
#include "workloads/experiment.hpp"

namespace warploom {
namespace {

Report report_of(const char* experiment) { return Experiment::load(experiment, {}).run().report; }

TEST(Llama3, StepOn16384DevicesIsWithin15PercentOfThePublishedOne) {
  const Report report = report_of("llama3_405b_16k_h100");
  // 16,777,216 tokens, 400 TFLOP/s a device under causal FLOPs: 6.46 s.
  EXPECT_NEAR(report.step_time.seconds() / 6.46, 1, 0.15);
  EXPECT_EQ(report.devices, 16384);
  EXPECT_TRUE(report.fits);
}

TEST(Llama3, HalfTheDevicesDoMoreEachByThePublishedRatio) {
  const Report t1 = report_of("llama3_405b_8k_h100");
  const Report t2 = report_of("llama3_405b_16k_h100");
  EXPECT_NEAR(t1.tflops_per_device / t2.tflops_per_device / (430.0 / 400.0), 1, 0.04);
}

TEST(FlashAttention2, ReachesAbout35PercentOfAnH100Forward) {
  DeviceSpec device =
      read<DeviceSpec>(load_config("devices/h100_sxm", {"architecture.use=architectures/hopper_flash_attention_2"}));
  AttentionShape shape;
  shape.batch = 1;
  shape.query_heads = shape.kv_heads = 16;
  shape.query_length = shape.kv_length = 16384;
  shape.head_dim = 128;
  shape.causal = false;
  const Kernel kernel = attention(shape);
  const KernelCost cost = AnalyticTimer(device, LaunchMode::stream).cost(kernel);
  const double reached = (cost.flops / cost.duration) / device.peak(DataType::bf16);
  EXPECT_NEAR(reached, 0.35, 0.035);  // arXiv:2407.08608, abstract
}

}  // namespace
}  // namespace warploom
