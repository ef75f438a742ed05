// SPDX-License-Identifier: Apache-2.0
// Which kernels serving engines run for quantised products, and what that means for their traffic.
#include "hw_models/kernels/serving_gemm_kernel.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "hw_models/detailed_timer.hpp"
#include "hw_models/kernels/moe.hpp"
#include "hw_models/kernels/quantize.hpp"
#include "hw_models/programs/kernel_programs.hpp"
#include "hw_models/programs/serving_gemm_program.hpp"
#include "tests/unit/hw_models/devices.hpp"

namespace warploom {
namespace {

using testing::b200;

GemmShape served(std::int64_t m, std::int64_t n, std::int64_t k, DataType type = DataType::fp8) {
  return {.m = m, .n = n, .k = k, .input = type, .is_serving = true};
}

GemmShape block_scaled(std::int64_t m, std::int64_t n, std::int64_t k) {
  GemmShape shape = served(m, n, k);
  shape.split_accumulator = true;
  return shape;
}

TEST(ServingGemm, FewTokensOnHopperShareTheirRowsAmongColumns) {
  const ServingGemmKernel one = serving_gemm_kernel(served(1, 8192, 8192), testing::h100());
  EXPECT_EQ(one.tile.m, 64);
  EXPECT_EQ(one.cluster_n, 8);
  EXPECT_FALSE(one.takes_turns);
  const ServingGemmKernel many = serving_gemm_kernel(served(2048, 8192, 8192), testing::h100());
  EXPECT_EQ(many.tile.m, 128);
  EXPECT_EQ(many.cluster_m, 2);
  EXPECT_TRUE(many.takes_turns);
}

TEST(ServingGemm, ManyTokensOnBlackwellAreMultipliedByPairsOfSms) {
  EXPECT_FALSE(serving_gemm_kernel(served(64, 8192, 8192), b200()).is_pair);
  EXPECT_TRUE(serving_gemm_kernel(served(65, 8192, 8192), b200()).is_pair);
  EXPECT_EQ(serving_gemm_kernel(served(257, 8192, 8192), b200()).step_bytes, 64);
}

// 256 x 7168: 112 tiles of 128 x 128, or 128 of 128 x 112 in one wave of 132 (DeepGEMM's own example).
TEST(ServingGemm, DeepGemmFillsAWaveWithTilesThatAreNoPowersOfTwo) {
  const DeviceSpec device = testing::h100();
  const ServingGemmKernel kernel = serving_gemm_kernel(block_scaled(256, 7168, 4096), device);
  const TileCounts tiles = serving_gemm_tiles(kernel, block_scaled(256, 7168, 4096));
  EXPECT_LE(tiles.rows * tiles.columns, device.sm.count);
  EXPECT_GE(tiles.rows * tiles.columns, 128);
  EXPECT_TRUE(kernel.promotes);
}

TEST(ServingGemm, ColumnAfterColumnReadsAgainWhatTheL2CannotKeep) {
  const DeviceSpec device = testing::h100();
  const GemmShape small = served(2048, 16384, 1024);
  EXPECT_DOUBLE_EQ(serving_gemm_traffic(serving_gemm_kernel(small, device), small, device).a, 2048.0 * 1024);
  const GemmShape large = served(8193, 65536, 16384);  // its last cluster has rows to spare
  const ServingGemmKernel kernel = serving_gemm_kernel(large, device);
  const double columns = serving_gemm_tiles(kernel, large).columns;
  const OperandBytes traffic = serving_gemm_traffic(kernel, large, device);
  EXPECT_DOUBLE_EQ(traffic.a, 8193.0 * 16384 * columns);
  EXPECT_DOUBLE_EQ(traffic.b, 65536.0 * 16384);
}

TEST(ServingGemm, ABenchmarkPacksScalesAnewOnBlackwellAlone) {
  GemmShape shape = block_scaled(64, 4096, 4096);
  EXPECT_EQ(serving_gemm_programs(shape, b200()).size(), 1U);
  shape.is_warm = true;
  EXPECT_EQ(serving_gemm_programs(shape, b200()).size(), 5U);
  EXPECT_EQ(serving_gemm_programs(shape, testing::h100()).size(), 1U);
}

TEST(Quantize, ManyRowsAreAWarpEachAndFewABlockEach) {
  const DeviceSpec device = testing::h100();
  const auto blocks = [&](std::int64_t rows) {
    return kernel_plan(quantize({.rows = rows, .width = 4096}), device).programs.front().block_count();
  };
  const std::int64_t many = std::int64_t{16} * device.sm.count;
  EXPECT_EQ(blocks(many - 1), many - 1);
  EXPECT_EQ(blocks(many), many / 8);
}

// Each result of a thread is a store of one byte: a sector is written in eight parts.
TEST(Quantize, BlocksOf128TakeLongerThanRowsOfAsManyBytes) {
  const DeviceSpec device = testing::h100();
  const auto time = [&](std::int64_t block) {
    const Kernel kernel = quantize({.rows = 32768, .width = 4096, .block = block});
    return play_kernel(kernel, device, LaunchMode::graph).cost.duration.seconds();
  };
  EXPECT_GT(time(128), 1.5 * time(0));
}

int activations_of(const DeviceSpec& device) {
  const Kernel layer = moe({.tokens = 64,
                            .hidden = 4096,
                            .intermediate = 2048,
                            .top_k = 8,
                            .experts = 64,
                            .local_experts = 64,
                            .product_type = DataType::fp8,
                            .weight_type = DataType::fp8});
  const auto programs = kernel_plan(layer, device).programs;
  return static_cast<int>(std::ranges::count(programs, "activation", &KernelProgram::name));
}

TEST(MoePrograms, TrtllmHasTheActivationWithinTheProductUnlessBlocksHaveScales) {
  EXPECT_EQ(activations_of(b200()), 0);
  EXPECT_EQ(activations_of(testing::device_from("use: b200_sxm\n", {"architecture.moe.promotes=true"})), 1);
}

TEST(MoePrograms, BlocksThatJoinALaunchAddNoGap) {
  KernelPlan plan = kernel_plan(quantize({.rows = 64, .width = 4096}), testing::h100());
  plan.programs.push_back(plan.programs.front());
  const Time apart = play_plan(plan, testing::h100(), LaunchMode::graph).cost.duration;
  plan.programs.back().joins_before = true;
  const Time joined = play_plan(plan, testing::h100(), LaunchMode::graph).cost.duration;
  EXPECT_NEAR((apart - joined).seconds(), testing::h100().launch.graph.seconds(), 1e-9);
}

}  // namespace
}  // namespace warploom
