// SPDX-License-Identifier: Apache-2.0
// The slowest of n chips: more members, more energy an operation, a lower clock only where power binds.
#include "hw_models/slowest_device.hpp"

#include <gtest/gtest.h>

#include "hw_models/analytic_timer.hpp"
#include "hw_models/kernels/element_wise.hpp"
#include "hw_models/kernels/gemm.hpp"
#include "sim/core/config.hpp"
#include "sim/core/config_value.hpp"

namespace warploom {
namespace {

DeviceSpec h100() { return read<DeviceSpec>(load_config("devices/h100_sxm", {})); }

double energy_of(const DeviceSpec& device) { return device.architecture.energy.tensor_flop.at("bf16").value(); }

TEST(SlowestDevice, OfOneIsTheDevice) { EXPECT_EQ(energy_of(slowest_of(h100(), 1)), energy_of(h100())); }

TEST(SlowestDevice, TakesTheEnergyOfTheLargestOfNDraws) {
  const DeviceSpec device = h100();
  // E[max of 2] of normals is 1 / sqrt(pi) = 0.564; Blom's approximation gives 0.589. The largest of 1,000: 3.24.
  EXPECT_NEAR(energy_of(slowest_of(device, 2)) / energy_of(device), 1 + device.architecture.energy.spread * 0.589,
              1e-3);
  EXPECT_NEAR(energy_of(slowest_of(device, 1000)) / energy_of(device), 1 + device.architecture.energy.spread * 3.24,
              1e-3);
}

TEST(SlowestDevice, SlowsWhatIsBoundByPowerAndNothingElse) {
  const AnalyticTimer one(h100(), LaunchMode::stream);
  const AnalyticTimer slowest(slowest_of(h100(), 16384), LaunchMode::stream);
  const Kernel product = gemm({.m = 8192, .n = 8192, .k = 8192});
  const double slow_down = slowest.cost(product).duration / one.cost(product).duration;
  EXPECT_GT(slow_down, 1.02);
  EXPECT_LT(slow_down, 1 + h100().architecture.energy.spread * 4);
  const Kernel stream = element_wise({.elements = 1 << 26, .bytes_read = 2, .bytes_written = 2});
  EXPECT_EQ(slowest.cost(stream).duration, one.cost(stream).duration);
}

}  // namespace
}  // namespace warploom
