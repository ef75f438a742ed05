// SPDX-License-Identifier: Apache-2.0
// Sharing one device between kernels and communication.
#include "sim/play/sharing.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace warploom {
namespace {

TEST(Sharing, LeavesAloneWhatFits) {
  std::vector<KernelDemand> kernels{{0.5, 0.4, 0}};
  std::vector<CallDemand> calls{{0.2, 0.3, 0}};
  share_device(kernels, calls);
  EXPECT_DOUBLE_EQ(kernels[0].speed, 1.0);
  EXPECT_DOUBLE_EQ(calls[0].granted, 0.3);
}

TEST(Sharing, SlowsAKernelByTheSmsThatACallHolds) {
  std::vector<KernelDemand> kernels{{1.0, 0.1, 0}};
  std::vector<CallDemand> calls{{24.0 / 132, 0.05, 0}};
  share_device(kernels, calls);
  EXPECT_DOUBLE_EQ(kernels[0].speed, 1 - 24.0 / 132);
}

TEST(Sharing, DividesMemoryBandwidthMaxMinFair) {
  std::vector<KernelDemand> kernels{{0.1, 1.0, 0}};
  std::vector<CallDemand> calls{{0, 0.2, 0}};
  share_device(kernels, calls);
  EXPECT_DOUBLE_EQ(kernels[0].speed, 0.8);  // the small demand is met, the kernel gets the rest
  EXPECT_DOUBLE_EQ(calls[0].granted, 0.2);

  calls[0].hbm_share = 0.9;  // both want more than half
  share_device(kernels, calls);
  EXPECT_DOUBLE_EQ(kernels[0].speed, 0.5);
  EXPECT_DOUBLE_EQ(calls[0].granted, 0.5);
}

TEST(Sharing, NeverHandsOutMoreThanThereIs) {
  for (int n = 1; n < 6; ++n) {
    std::vector<KernelDemand> kernels(static_cast<std::size_t>(n), {1.0, 0.3, 0});
    std::vector<CallDemand> calls{{0.1, 0.25, 0}, {0.05, 0.6, 0}};
    share_device(kernels, calls);
    double sms = 0.15;
    double hbm = calls[0].granted + calls[1].granted;
    for (const auto& kernel : kernels) {
      sms += kernel.sm_share * kernel.speed;
      hbm += kernel.hbm_share * kernel.speed;
    }
    EXPECT_LE(sms, 1 + 1e-12);
    EXPECT_LE(hbm, 1 + 1e-12);
  }
}

}  // namespace
}  // namespace warploom
