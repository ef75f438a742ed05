// SPDX-License-Identifier: Apache-2.0
// Better hardware is never slower: the kernel is the library's choice, not the minimum of our own cost.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "hw_models/kernels.hpp"
#include "hw_models/kernels/gemm.hpp"
#include "sim/core/config.hpp"
#include "sim/core/library.hpp"

namespace warploom {
namespace {

struct Improvement {
  const char* name;
  void (*apply)(DeviceSpec&);
};

constexpr Improvement improvements[] = {
    {"L2 bandwidth", [](DeviceSpec& d) { d.l2.bytes_per_cycle_per_sm *= 1.1; }},
    {"L2 capacity", [](DeviceSpec& d) { d.l2.capacity = d.l2.capacity * 1.1; }},
    {"memory bandwidth", [](DeviceSpec& d) { d.memory.bandwidth = d.memory.bandwidth * 1.1; }},
    {"clock", [](DeviceSpec& d) { d.clock.max = d.clock.max * 1.1; }},
    {"shared memory bandwidth", [](DeviceSpec& d) { d.sm.shared_memory_bytes_per_cycle *= 1.1; }},
    {"vector lanes", [](DeviceSpec& d) { d.sm.vector_lanes *= 1.1; }},
    {"power", [](DeviceSpec& d) { d.power.limit = d.power.limit * 1.1; }},
    {"tensor rate",
     [](DeviceSpec& d) {
       for (auto& [type, rate] : d.tensor) rate *= 1.1;
     }},
};

TEST(GemmProperty, BetterHardwareIsNeverSlower) {
  const Library library({WARPLOOM_SOURCE_DIR "/configs"});
  std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): the same shapes every time
  std::uniform_real_distribution<double> exponent(0, 15);
  const auto size = [&] { return static_cast<std::int64_t>(std::exp2(exponent(random))); };
  for (const char* name : {"a100_sxm", "h100_sxm", "b200_sxm", "l40s"}) {
    const DeviceSpec device = read<DeviceSpec>(load_config(name, {}, library));
    for (int i = 0; i < 400; ++i) {
      GemmShape shape{.m = size(), .n = size(), .k = size(), .is_warm = i % 2 == 0};
      if (i % 4 == 3) shape.input = shape.output = DataType::fp32;
      const Kernel kernel = gemm(shape);
      const Time before = kernel_family("gemm").cost(kernel, device).duration;
      for (const Improvement& improvement : improvements) {
        DeviceSpec better = device;
        improvement.apply(better);
        EXPECT_LE(kernel_family("gemm").cost(kernel, better).duration.seconds(), 1.001 * before.seconds())
            << name << " " << improvement.name << ": " << shape.m << " x " << shape.n << " x " << shape.k;
      }
    }
  }
}

}  // namespace
}  // namespace warploom
