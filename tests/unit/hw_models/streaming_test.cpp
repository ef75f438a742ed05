// SPDX-License-Identifier: Apache-2.0
// Memory-bound kernels: what goes over rows several times, what waits for its loads, what is found in the L2; sampling.
#include "hw_models/streaming.hpp"

#include <gtest/gtest.h>

#include "hw_models/kernels.hpp"
#include "hw_models/kernels/norm.hpp"
#include "hw_models/kernels/quantize.hpp"
#include "hw_models/kernels/sampling.hpp"
#include "hw_models/kernels/softmax.hpp"
#include "hw_models/kernels/streaming_family.hpp"
#include "sim/core/errors.hpp"
#include "tests/unit/hw_models/devices.hpp"

namespace warploom {
namespace {

DeviceSpec device_named(const std::string& name) { return testing::device_from("use: " + name + "\n"); }

KernelCost cost_of(const Kernel& kernel, const DeviceSpec& device) {
  const KernelFamily& family = kernel_family(kernel.family);
  family.check(kernel);
  return family.cost(kernel, device);
}

double us(const Kernel& kernel, const DeviceSpec& device) { return cost_of(kernel, device).duration.microseconds(); }

Kernel framework_norm(std::int64_t rows, std::int64_t width) {
  return norm({.rows = rows, .width = width, .kind = NormKind::layer, .type = DataType::fp32, .framework = true});
}

Kernel framework_softmax(std::int64_t rows, std::int64_t width) {
  return softmax({.rows = rows, .width = width, .type = DataType::fp32, .framework = true});
}

// 2,048 threads of an SM are 16 blocks: 108 x 16 rows of 4 B x (in and out) are 14 KB x width, 40 MB of L2.
TEST(FrameworkLayerNorm, ReadsRowsTwiceThatDoNotFitTheL2) {
  const DeviceSpec device = device_named("a100_sxm");
  const Kernel narrow = framework_norm(65536, 1024);
  EXPECT_EQ(cost_of(narrow, device).hbm_bytes, bytes(narrow));
  const Kernel wide = framework_norm(65536, 16384);
  EXPECT_EQ(cost_of(wide, device).hbm_bytes, bytes(wide) * 1.5);
}

// Four blocks of 512 threads: 49 KB a row in the L1's 164 KB, and twice as much beyond it and the L2.
TEST(FrameworkSoftmax, ReadsRowsThreeTimesThatFitNeitherL1NorL2) {
  const DeviceSpec device = device_named("a100_sxm");
  const Kernel narrow = framework_softmax(65536, 8192);
  EXPECT_EQ(cost_of(narrow, device).hbm_bytes, bytes(narrow));
  const Kernel wide = framework_softmax(4096, 65536);
  EXPECT_EQ(cost_of(wide, device).hbm_bytes, bytes(wide) * 2);
}

TEST(FrameworkSoftmax, TakesLongerForRowsThatAreNoMultipleOfItsLoads) {
  const DeviceSpec device = device_named("v100_pcie_32gb");
  EXPECT_GT(us(framework_softmax(32768, 4095), device), us(framework_softmax(32768, 4096), device));
  EXPECT_GT(us(framework_softmax(32768, 1023), device), us(framework_softmax(32768, 1024), device) * 1.05);
}

TEST(FrameworkKernels, AreForwardOnly) {
  EXPECT_THROW(bytes(norm({.rows = 8, .width = 8, .framework = true})), UserError);
  EXPECT_THROW(bytes(softmax({.rows = 8, .width = 8, .backward = true, .framework = true})), UserError);
}

// 65,536 blocks of 256 threads with 8 values each: from there on only the memory sets the pace.
TEST(QuantizeCast, GoesAtTheMemorysPaceOnceAllBlocksHaveStarted) {
  const DeviceSpec device = device_named("b200_sxm");
  const auto cast_us = [&](std::int64_t rows) {
    return us(quantize({.rows = rows, .width = 16384, .part = QuantizePart::cast}), device);
  };
  const double values = 8192.0 * 16384;  // 65,536 x 2,048
  const double paced = cast_us(8192) - cast_us(4096);
  const double free = cast_us(24576) - cast_us(16384);
  EXPECT_NEAR(paced, values / 2 * 3 / (148 * 16 * 1.965e9) * 1e6, 0.01 * paced);
  EXPECT_NEAR(free, values * 3 / (device.reached_bandwidth().value() * 1.04) * 1e6, 0.01 * free);
}

// Little's law: 2,048 threads of an SM, each waiting for 2 B.
TEST(ScaleSearch, MovesWhatItsThreadsWaitForInALatency) {
  DeviceSpec device = device_named("h100_sxm");
  device.memory.bandwidth = device.memory.bandwidth * 100;
  const auto search_us = [&](std::int64_t rows) {
    return us(quantize({.rows = rows, .width = 16384, .part = QuantizePart::scale}), device);
  };
  const double values = 8192.0 * 16384;
  const double waiting = values / (132 * 2048) * (650 + 105) / 1.98e9 * 1e6;
  EXPECT_NEAR(search_us(16384) - search_us(8192), waiting, 0.01 * waiting);
}

TEST(QuantizeCast, FindsInTheL2WhatTheSearchHasRead) {
  const DeviceSpec device = device_named("l40s");
  const QuantizeShape alone{.rows = 2048, .width = 16384, .part = QuantizePart::cast};
  QuantizeShape behind = alone;
  behind.after_search = true;
  EXPECT_LT(us(quantize(behind), device), 0.6 * us(quantize(alone), device));
  behind.rows = 1 << 20;
  QuantizeShape long_alone = alone;
  long_alone.rows = behind.rows;
  EXPECT_NEAR(us(quantize(behind), device) / us(quantize(long_alone), device), 1, 0.001);
}

TEST(WarmStreams, AreFasterOnlyWhereTheyFitTheL2) {
  const DeviceSpec device = device_named("h100_sxm");
  const auto ratio = [&](std::int64_t rows) {
    Kernel kernel = framework_norm(rows, 1024);
    const double cold = us(kernel, device);
    kernel.flags |= warm_stream_flag;
    return us(kernel, device) / cold;
  };
  EXPECT_LT(ratio(2048), 0.95);
  EXPECT_DOUBLE_EQ(ratio(65536), 1);
}

TEST(WarmStreams, TakeNothingFromMemoryThatTheL2Holds) {
  const DeviceSpec device = device_named("h100_sxm");
  Kernel kernel = norm({.rows = 1024, .width = 4096});
  const KernelCost cold = cost_of(kernel, device);
  EXPECT_EQ(cold.hbm_bytes, bytes(kernel));
  kernel.flags |= warm_stream_flag;
  const KernelCost warm = cost_of(kernel, device);
  EXPECT_EQ(warm.hbm_bytes, Bytes{0});
  EXPECT_EQ(warm.l2_bytes, cold.l2_bytes);
  const Energy saved = device.architecture.energy.memory_byte * static_cast<double>(bytes(kernel).count());
  const auto busy = [&](const KernelCost& cost) { return (cost.power - device.power.idle) * cost.duration; };
  EXPECT_NEAR((busy(cold) - busy(warm)).value() / saved.value(), 1, 0.001);
}

// A block on each SM: 108 x 128 KB, in and out, are 14 MB of 40 MB; 16 blocks an SM would be 226 MB.
TEST(FrameworkLayerNorm, FillsTheL2WithAsManyRowsAsThereAre) {
  const DeviceSpec device = device_named("a100_sxm");
  EXPECT_EQ(cost_of(framework_norm(100, 16384), device).hbm_bytes, bytes(framework_norm(100, 16384)));
  EXPECT_GT(cost_of(framework_norm(10800, 16384), device).hbm_bytes, bytes(framework_norm(10800, 16384)));
}

TEST(Sampling, ReadsLogitsAndWritesTokens) {
  EXPECT_EQ(bytes(sampling({.rows = 10, .vocabulary = 1000})), Bytes(10 * 1000 * 4 + 10 * 8));
  EXPECT_EQ(bytes(sampling({.rows = 10, .vocabulary = 1000, .greedy = true, .type = DataType::bf16})),
            Bytes(10 * 1000 * 2 + 10 * 8));
}

// Two more rounds: one and a half passes each over the FP32 probabilities.
TEST(Sampling, RejectionCostsItsRounds) {
  const DeviceSpec device = device_named("h100_sxm");
  const auto moved = [&](std::int64_t rounds) {
    return cost_of(sampling({.rows = 1024, .vocabulary = 128256, .rounds = rounds, .top_p = true}), device).hbm_bytes;
  };
  EXPECT_EQ(moved(4) - moved(2), Bytes(1024L * 128256 * 4) * 3);
}

TEST(Sampling, OrderOfMethodsIsThatOfTheirPasses) {
  const DeviceSpec device = device_named("h100_sxm");
  SamplingShape shape{.rows = 256, .vocabulary = 128256, .greedy = true};
  const double greedy = us(sampling(shape), device);
  shape.greedy = false;
  const double drawn = us(sampling(shape), device);
  shape.top_p = true;
  const double rejected = us(sampling(shape), device);
  shape.sorted = true;
  const double sorted = us(sampling(shape), device);
  EXPECT_LT(greedy, drawn);
  EXPECT_LT(drawn, rejected);
  EXPECT_LT(rejected, sorted);
}

// One block a row: a second row goes beside the first.
TEST(Sampling, RowsUpToTheSmsTakeAsLongAsOne) {
  const DeviceSpec device = device_named("h100_sxm");
  const SamplingShape one{.rows = 1, .vocabulary = 128256, .greedy = true};
  SamplingShape many = one;
  many.rows = 8;
  EXPECT_NEAR(us(sampling(many), device) / us(sampling(one), device), 1, 0.01);
}

TEST(Sampling, RefusesFlagsThatContradict) {
  EXPECT_THROW(bytes(sampling({.rows = 1, .vocabulary = 10, .greedy = true, .top_k = true})), UserError);
  EXPECT_THROW(bytes(sampling({.rows = 1, .vocabulary = 10, .sorted = true})), UserError);
}

}  // namespace
}  // namespace warploom
