// SPDX-License-Identifier: Apache-2.0
// "What if this were free": both models answer, and only what is free changes.
#include "hw_models/ideal_device.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hw_models/detailed_timer.hpp"
#include "hw_models/kernels/gemm.hpp"
#include "sim/core/errors.hpp"
#include "tests/unit/hw_models/devices.hpp"

namespace warploom {
namespace {

using ::testing::ElementsAre;
using testing::h100;

Kernel product(std::int64_t m) {
  GemmShape shape;
  shape.m = m;
  shape.n = shape.k = 8192;
  return gemm(shape);
}

double seconds(const Kernel& kernel, const std::vector<Ideal>& ideals) {
  return AnalyticTimer(with_free(h100(), ideals), LaunchMode::graph).cost(kernel).duration.seconds();
}

TEST(IdealDevice, ReadsAListAndNamesWhatThereIs) {
  EXPECT_THAT(parse_ideals("launch, hbm,launch"), ElementsAre(Ideal::launch, Ideal::hbm));
  EXPECT_EQ(in_words(parse_ideals("launch,l2,hbm")), "launch, l2 and hbm");
  EXPECT_THROW(parse_ideals(""), UserError);
  EXPECT_THROW(parse_ideals("hbm,,l2"), UserError);
  try {
    parse_ideals("hmb");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(error.hint(), "did you mean `hbm`?");
  }
}

TEST(IdealDevice, ASkinnyProductGainsByMemoryAndALargeOneByTensorCores) {
  const double skinny = seconds(product(16), {});
  EXPECT_LT(seconds(product(16), {Ideal::hbm}), 0.6 * skinny);
  EXPECT_GT(seconds(product(16), {Ideal::tensor}), 0.9 * skinny);
  const double large = seconds(product(8192), {});
  EXPECT_GT(seconds(product(8192), {Ideal::hbm}), 0.9 * large);
  const double lifted = seconds(product(8192), {Ideal::power});
  EXPECT_LT(lifted, 0.9 * large);
  EXPECT_LT(seconds(product(8192), {Ideal::tensor, Ideal::l2, Ideal::power}), 0.5 * lifted);
}

TEST(IdealDevice, AFreeLaunchTakesTheGapAway) {
  const double gap = h100().launch.graph.seconds();
  EXPECT_NEAR(seconds(product(16), {}) - seconds(product(16), {Ideal::launch}), gap, 1e-12);
}

TEST(IdealDevice, TheMemoryBehindAFreeL2StaysAsFarFromIt) {
  const DeviceSpec device = h100();
  const DeviceSpec free = with_free(device, {Ideal::l2});
  EXPECT_DOUBLE_EQ(free.memory.latency.value(), device.memory.latency.value() - device.l2.latency.value());
  EXPECT_DOUBLE_EQ(with_free(device, {Ideal::l2, Ideal::hbm}).memory.latency.value(), 0);
  EXPECT_DOUBLE_EQ(with_free(device, {Ideal::network}).memory.bandwidth.value(), device.memory.bandwidth.value());
}

TEST(IdealDevice, FreeMemoryMovesTheTopStallOfASkinnyProductInTheDetailedModel) {
  if (!has_detailed_model()) GTEST_SKIP() << "SystemC is missing";
  const DetailedKernel real = play_kernel(product(16), h100(), LaunchMode::graph);
  const DetailedKernel free = play_kernel(product(16), with_free(h100(), {Ideal::hbm}), LaunchMode::graph);
  EXPECT_EQ(real.cost.bound_by, Bound::hbm);
  EXPECT_NE(free.cost.bound_by, Bound::hbm);
  EXPECT_LT(free.cost.duration.seconds(), 0.7 * real.cost.duration.seconds());
}

}  // namespace
}  // namespace warploom
