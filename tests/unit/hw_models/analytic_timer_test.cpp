// SPDX-License-Identifier: Apache-2.0
// The analytic timer: bounds, waves, power balance, launch gaps, and the directions in which times must move.
#include "hw_models/analytic_timer.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "hw_models/kernels.hpp"
#include "hw_models/kernels/attention.hpp"
#include "hw_models/kernels/cast.hpp"
#include "hw_models/kernels/element_wise.hpp"
#include "hw_models/kernels/gemm.hpp"
#include "hw_models/kernels/norm.hpp"
#include "hw_models/operating_point.hpp"
#include "tests/unit/hw_models/devices.hpp"

namespace warploom {
namespace {

using testing::a100;
using testing::h100;

KernelCost cost(const Kernel& kernel, const DeviceSpec& device) {
  return AnalyticTimer(device, LaunchMode::graph).cost(kernel);
}

double rate(const Kernel& kernel, const DeviceSpec& device) {  // FLOP/s
  const KernelCost result = cost(kernel, device);
  return result.flops.value() / result.duration.seconds();
}

TEST(AnalyticTimer, NeverBeatsThePeaks) {
  for (const DeviceSpec& device : {h100(), a100()}) {
    const FlopRate peak = device.peak_at(DataType::bf16, device.clock.max);
    for (const std::int64_t m : {1, 64, 1000, 8192, 65536}) {
      for (const std::int64_t n : {128, 8192}) {
        const KernelCost result = cost(gemm({.m = m, .n = n, .k = 8192}), device);
        EXPECT_GE(result.duration, result.flops / peak);
        EXPECT_GE(result.duration, result.hbm_bytes / device.memory.bandwidth);
        EXPECT_LE(result.power, device.power.limit * device.architecture.energy.among_others);
        EXPECT_GT(result.sm_share, 0);
        EXPECT_LE(result.sm_share, 1);
      }
    }
  }
}

TEST(AnalyticTimer, MoreWorkNeverTakesLess) {
  const DeviceSpec device = h100();
  Time before = Time::zero();
  for (std::int64_t k = 256; k <= 65536; k *= 2) {
    const Time now = cost(gemm({.m = 4096, .n = 4096, .k = k}), device).duration;
    EXPECT_GT(now, before) << "k = " << k;
    before = now;
  }
  before = Time::zero();
  for (std::int64_t s = 128; s <= 65536; s *= 2) {
    const Time now =
        cost(attention({.query_heads = 16, .kv_heads = 16, .query_length = s, .kv_length = s}), device).duration;
    EXPECT_GE(now, before) << "s = " << s;
    before = now;
  }
  EXPECT_GT(cost(norm({.rows = 8192, .width = 8192}), device).duration,
            cost(norm({.rows = 4096, .width = 8192}), device).duration);
}

TEST(AnalyticTimer, BetterHardwareNeverTakesLonger) {
  const Kernel kernels[] = {gemm({.m = 8192, .n = 8192, .k = 8192}), gemm({.m = 16, .n = 8192, .k = 8192}),
                            attention({.query_heads = 16, .kv_heads = 16, .query_length = 4096, .kv_length = 4096}),
                            norm({.rows = 8192, .width = 8192}), cast({.elements = 1 << 28})};
  const char* changes[] = {"memory.bandwidth=6 TB/s", "clock.max=2.2 GHz", "power.limit=900 W",
                           "l2.bytes_per_cycle_per_sm=64"};
  for (const Kernel& kernel : kernels) {
    for (const char* change : changes) {
      EXPECT_LE(cost(kernel, h100({change})).duration, cost(kernel, h100()).duration) << kernel.family << " " << change;
    }
  }
}

TEST(AnalyticTimer, MemoryBoundKernelTakesItsBytesOverTheReachedBandwidth) {
  const DeviceSpec device = h100();
  const Kernel kernel = cast({.elements = std::int64_t{1} << 30});
  const KernelCost result = cost(kernel, device);
  EXPECT_EQ(result.bound_by, Bound::hbm);
  EXPECT_EQ(result.hbm_bytes, bytes(kernel));
  const Time streaming = bytes(kernel) / device.reached_bandwidth();
  EXPECT_GT(result.duration, streaming);
  EXPECT_LT(result.duration, streaming + 5_us);
  // It leaves SMs to others.
  EXPECT_LT(result.sm_share, 0.5);
}

TEST(Gemm, SkinnyProductReadsItsWeightsAtTheReachedBandwidth) {
  const DeviceSpec device = h100();
  const Kernel kernel = gemm({.m = 8, .n = 65536, .k = 8192});
  const KernelCost result = cost(kernel, device);
  EXPECT_EQ(result.bound_by, Bound::hbm);
  EXPECT_NEAR(result.duration / (bytes(kernel) / device.reached_bandwidth()), 1, 0.1);
}

TEST(Gemm, OneTileMoreThanAWaveCostsPartOfAnother) {
  // 128 x 256 tiles on 132 SMs: 132 tiles are one wave, one more row of tiles begins a second. (k is too short to be
  // cut.)
  const DeviceSpec device = h100({"architecture.gemm.tiles=[{m: 128, n: 256}]", "power.limit=5 kW"});
  const auto duration = [&](std::int64_t rows_of_tiles) {
    return cost(gemm({.m = 128 * rows_of_tiles, .n = std::int64_t{256} * 12, .k = 4032}), device).duration;
  };
  const double within = duration(11) / duration(10);  // 132 and 120 tiles
  const double beyond = duration(12) / duration(11);  // 144 tiles
  EXPECT_NEAR(within, 1, 0.02);
  EXPECT_GT(beyond, 1 + 0.5 * device.architecture.gemm.wave_quantisation);  // of which ends take a part
  EXPECT_GT(duration(22), duration(12));
}

TEST(Gemm, LongKOfFewTilesIsSplit) {
  const Kernel kernel = gemm({.m = 128, .n = 128, .k = 65536});
  const Time split = cost(kernel, h100()).duration;
  const Time whole = cost(kernel, h100({"architecture.gemm.split_maximum=1"})).duration;
  EXPECT_LT(split, whole * 0.5);
}

TEST(Gemm, LargeProductsRunAtThePowerLimitOnH100) {
  const Kernel kernel = gemm({.m = 8192, .n = 8192, .k = 8192});
  const KernelCost limited = cost(kernel, h100());
  EXPECT_EQ(limited.bound_by, Bound::power);
  EXPECT_NEAR(limited.power.value(), 700 * 1.17, 1);  // a governor averages: among others it may draw more
  const KernelCost unlimited = cost(kernel, h100({"power.limit=5 kW"}));
  EXPECT_EQ(unlimited.bound_by, Bound::tensor);
  EXPECT_GT(limited.duration, unlimited.duration * 1.1);
  EXPECT_GT(unlimited.power, 819_W);
}

TEST(Gemm, AccumulationIntoFp32NeverIsFaster) {
  const GemmShape shape{.m = 8192, .n = 2048, .k = 1024, .output = DataType::fp32};
  GemmShape accumulating = shape;
  accumulating.accumulate = true;
  EXPECT_GE(cost(gemm(accumulating), h100()).duration, cost(gemm(shape), h100()).duration);
}

TEST(OperatingPoint, ShortKernelsOfABenchmarkRunFasterThanLongOnes) {
  const auto rate = [](std::int64_t k) {
    const KernelCost result = cost(gemm({.m = 16384, .n = 16384, .k = k, .is_warm = true}), h100());
    return result.flops / result.duration;
  };
  EXPECT_GT(rate(2048), rate(32768));
  const KernelCost longest = cost(gemm({.m = 32768, .n = 32768, .k = 65536, .is_warm = true}), h100());
  EXPECT_NEAR(longest.power.value(), 700, 1);
}

TEST(OperatingPoint, ClockIsTheHighestWithinTheLimit) {
  const DeviceSpec device = h100({"architecture.energy.least_voltage=0", "architecture.energy.among_others=1"});
  // All in the core, time inversely as the clock, voltage as the clock: P = idle + E f^2 / fmax^2 x f / cycles.
  const double cycles = 1e6;
  const auto seconds_at = [&](Frequency clock) { return cycles / clock.value(); };
  const double joules = 1000 * cycles / device.clock.max.value();  // 1,000 W at the highest clock
  const OperatingPoint point = operating_point(device, {Energy(joules), Energy(0)}, seconds_at);
  EXPECT_TRUE(point.is_power_limited);
  const double share = std::cbrt((700.0 - 120.0) / 1000.0);
  EXPECT_NEAR(point.clock / device.clock.max, share, 1e-4);
  EXPECT_LE(point.power, device.power.limit);

  // With half of the voltage there at any clock, energy falls less, and so must the clock fall more.
  const DeviceSpec half = h100({"architecture.energy.least_voltage=0.5", "architecture.energy.among_others=1"});
  EXPECT_LT(operating_point(half, {Energy(joules), Energy(0)}, seconds_at).clock, point.clock);

  const OperatingPoint cool = operating_point(device, {Energy(joules / 10), Energy(0)}, seconds_at);
  EXPECT_FALSE(cool.is_power_limited);
  EXPECT_EQ(cool.clock, device.clock.max);
}

TEST(FlashAttention, CausalIsLessThanFullAndMoreThanHalf) {
  AttentionShape shape{.batch = 2, .query_heads = 32, .kv_heads = 8, .query_length = 8192, .kv_length = 8192};
  const Time causal = cost(attention(shape), h100()).duration;
  shape.causal = false;
  const Time full = cost(attention(shape), h100()).duration;
  EXPECT_LT(causal, full);
  EXPECT_GT(causal, full * 0.5);
}

TEST(AnalyticTimer, StreamLaunchesCostTheirGap) {
  const DeviceSpec device = h100();
  const Kernel kernel = norm({.rows = 128, .width = 1024});
  const KernelCost graph = AnalyticTimer(device, LaunchMode::graph).cost(kernel);
  const KernelCost stream = AnalyticTimer(device, LaunchMode::stream).cost(kernel);
  EXPECT_EQ(stream.duration - graph.duration, device.launch.stream - device.launch.graph);
  EXPECT_EQ(stream.bound_by, Bound::launch);
}

TEST(AnalyticTimer, RefusesATypeThatTheDeviceLacks) {
  try {
    cost(gemm({.m = 64, .n = 64, .k = 64, .input = DataType::fp8}), a100());
    FAIL() << "A100 has no FP8";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("bf16, fp16, int8, tf32"));
  }
  EXPECT_GT(rate(gemm({.m = 8192, .n = 8192, .k = 8192, .input = DataType::fp8}), h100()),
            rate(gemm({.m = 8192, .n = 8192, .k = 8192}), h100()));
}

TEST(AnalyticTimer, AbsurdlyLargeKernelsEndInAnErrorOrAnAnswerNotInAHang) {
  const std::int64_t huge = std::int64_t{1} << 40;
  EXPECT_THROW(cost(gemm({.m = huge, .n = huge, .k = huge}), h100()), UserError);
  EXPECT_THROW(cost(attention({.query_heads = 1, .kv_heads = 1, .query_length = huge, .kv_length = huge}), h100()),
               UserError);
}

TEST(MakeDeviceClass, CarriesWhatSharingNeeds) {
  const DeviceSpec device = h100();
  const DeviceClass made = make_device_class(device);
  EXPECT_EQ(made.sm_count, 132);
  EXPECT_EQ(made.hbm_bandwidth, device.memory.bandwidth * device.memory.reached);
  EXPECT_EQ(made.memory_usable, device.memory.usable);
  EXPECT_EQ(made.peak, device.peak(DataType::bf16));
  ASSERT_NE(made.timer, nullptr);
  EXPECT_GT(made.timer->cost(cast({.elements = 1})).duration, Time::zero());
}

}  // namespace
}  // namespace warploom
