// SPDX-License-Identifier: Apache-2.0
// The detailed model as a whole: what changes of a device do to a kernel, and what stands for what.
#include "hw_models/detailed.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "hw_models/detailed_timer.hpp"
#include "hw_models/kernels/attention.hpp"
#include "hw_models/kernels/gemm.hpp"
#include "hw_models/kernels/gemm_blocking.hpp"
#include "hw_models/programs/code.hpp"
#include "hw_models/programs/gemm_program.hpp"
#include "hw_models/programs/kernel_programs.hpp"
#include "hw_models/programs/program_text.hpp"
#include "sim/core/errors.hpp"
#include "tests/unit/hw_models/devices.hpp"

namespace warploom {
namespace {

const std::vector<std::string> no_power_limit = {"power.limit=100 kW"};

std::vector<std::string> with(std::vector<std::string> overrides, const std::string& more) {
  overrides.push_back(more);
  return overrides;
}

Kernel large_gemm() { return gemm({.m = 8192, .n = 8192, .k = 8192}); }

double seconds(const Kernel& kernel, const DeviceSpec& device, const DetailedOptions& options = {}) {
  const DetailedKernel played = play_kernel(kernel, device, LaunchMode::graph, options);
  return (played.cost.duration - played.gap).seconds();
}

// d log(time) / d log(resource), by a tenth more of it; faster is positive.
double elasticity(const Kernel& kernel, const std::vector<std::string>& base, const std::string& tenth_more) {
  const double before = seconds(kernel, testing::h100(base));
  const double after = seconds(kernel, testing::h100(with(base, tenth_more)));
  return -std::log(after / before) / std::log(1.1);
}

TEST(DetailedGemm, FollowsTheMatrixRateAndNotTheMemoryWherePowerAllows) {
  EXPECT_GE(elasticity(large_gemm(), no_power_limit, "tensor.bf16=4505.6"), 0.8);
  EXPECT_LE(elasticity(large_gemm(), no_power_limit, "tensor.bf16=4505.6"), 1.01);
  EXPECT_GE(elasticity(large_gemm(), no_power_limit, "clock.max=2.178 GHz"), 0.8);
  EXPECT_LE(elasticity(large_gemm(), no_power_limit, "clock.max=2.178 GHz"), 1.01);
  EXPECT_LE(std::abs(elasticity(large_gemm(), no_power_limit, "memory.bandwidth=3.685 TB/s")), 0.1);
}

TEST(DetailedGemm, FollowsTheEnergyOfAFlopWherePowerBoundsIt) {
  const DetailedKernel played = play_kernel(large_gemm(), testing::h100(), LaunchMode::graph);
  EXPECT_TRUE(played.is_power_limited);
  EXPECT_EQ(played.cost.bound_by, Bound::power);
  EXPECT_LT(played.clock, testing::h100().clock.max);
  EXPECT_LT(std::abs(elasticity(large_gemm(), {}, "tensor.bf16=4505.6")), 0.6);
  EXPECT_LT(elasticity(large_gemm(), {}, "architecture.energy.tensor_flop.bf16=1.5 pJ"), -0.1);
}

TEST(DetailedGemm, IsHeldByAnotherThingOnceTensorCoresAreFree) {
  const Kernel kernel = gemm({.m = 8192, .n = 8192, .k = 8192});
  const auto top = [&](const DeviceSpec& device) {
    return play_kernel(kernel, device, LaunchMode::graph).programs.front().top_stall();
  };
  EXPECT_EQ(top(testing::h100(no_power_limit)), Stall::gmma);
  DeviceSpec free = testing::h100(no_power_limit);
  free.tensor["bf16"] *= 1e6;
  EXPECT_NE(top(free), Stall::gmma);
}

TEST(DetailedGemm, PlaysEverySmAsTheOneThatStandsForThem) {
  const DeviceSpec device = testing::h100(no_power_limit);
  const Kernel kernel = gemm({.m = 2048, .n = 12672, .k = 2048});  // whole waves: all SMs do the same
  const double one = seconds(kernel, device);
  const double all = seconds(kernel, device, {.all_sms = true});
  EXPECT_NEAR(all / one, 1, 0.02);
}

TEST(DetailedGemm, TakesNoFittedTermOfTheAnalyticModel) {
  const DeviceSpec usual = testing::h100();
  DeviceSpec other = usual;
  GemmConstants& gemm_constants = other.architecture.gemm;
  gemm_constants.main_loop = 0.5;
  gemm_constants.prologue = 9000_cycles;
  gemm_constants.epilogue = 9000_cycles;
  gemm_constants.fixed = 20_us;
  gemm_constants.split_fixed = 20_us;
  gemm_constants.wave_quantisation = 0.1;
  gemm_constants.l2_reached = 0.5;
  gemm_constants.memory_overlap = 0;
  for (const GemmShape& shape :
       {GemmShape{.m = 8192, .n = 8192, .k = 8192}, GemmShape{.m = 64, .n = 512, .k = 32768}}) {
    EXPECT_EQ(seconds(gemm(shape), usual), seconds(gemm(shape), other));
  }
}

TEST(DetailedGemm, IsTheSameEveryTime) {
  const DeviceSpec device = testing::h100();
  EXPECT_EQ(seconds(large_gemm(), device), seconds(large_gemm(), device));
}

TEST(DetailedGemm, StepsUpWhereAWaveBegins) {
  const DeviceSpec device = testing::a100(no_power_limit);
  const auto blocks = [&](std::int64_t rows, std::int64_t columns) {
    return seconds(gemm({.m = 256 * rows, .n = 128 * columns, .k = 16384, .tile_m = 256, .tile_n = 128}), device);
  };
  EXPECT_NEAR(blocks(12, 9) / blocks(12, 5), 1, 0.1);   // 108 SMs against 60
  EXPECT_NEAR(blocks(11, 10) / blocks(12, 9), 2, 0.2);  // two blocks more than SMs
}

// Blocks of an SM run at different paces, since schedulers prefer some: what is counted instead of played must still be
// the kernel's work, neither more nor less.
TEST(DetailedGemm, CountsEachBlocksTurnsOnce) {
  for (const std::int64_t depth : {96, 1024, 4096}) {
    GemmShape shape{.m = 1600, .n = 30'592, .k = depth, .input = DataType::fp32, .output = DataType::fp32};
    shape.tile_m = 64;
    shape.tile_n = 128;
    shape.threads = 128;
    const DeviceSpec device = testing::device_from("use: l4\n");
    const DetailedKernel played = play_kernel(gemm(shape), device, LaunchMode::graph);
    const DetailedResult& program = played.programs.at(0);
    const double lanes = device.sm.vector_lanes * program.cycles * device.sm.count;
    const double wanted = gemm_flops(shape) / 2;
    EXPECT_LT(wanted / lanes, 1.0) << depth;
    EXPECT_GT(wanted / lanes, 0.3) << depth;
    EXPECT_NEAR(program.sm.vector_flops * program.scale / (2 * wanted), 1.02, 0.05) << depth;
  }
}

TEST(DetailedGemm, AddsPartsWithAProgramOfItsOwn) {
  const KernelPlan plan = kernel_plan(gemm({.m = 128, .n = 128, .k = 65536}), testing::h100());
  ASSERT_EQ(plan.programs.size(), 2U);
  EXPECT_GT(plan.programs[0].block_count(), 1);
}

TEST(Occupancy, ShowsTheSumThatDoesNotFit) {
  KernelProgram program;
  program.name = "large";
  program.roles = {{"warps", 4, 32, {}}};
  program.shared_memory = Bytes(300'000);
  try {
    resident_blocks(program, testing::h100());
    FAIL() << "300,000 bytes of shared memory fit an SM";
  } catch (const UserError& error) {
    EXPECT_NE(error.message().find("300000 + 1024 reserved = 301024"), std::string::npos) << error.message();
  }
}

TEST(Occupancy, IsTheLeastOfWhatTheLimitsAllow) {
  KernelProgram program;
  program.roles = {{"warps", 8, 64, {}}};
  EXPECT_EQ(resident_blocks(program, testing::h100()), 65536 / (8 * 32 * 64));
  program.roles = {{"warps", 8, 16, {}}};
  EXPECT_EQ(resident_blocks(program, testing::h100()), 2048 / (8 * 32));
  program.shared_memory = Bytes(100 * 1024);
  EXPECT_EQ(resident_blocks(program, testing::h100()), 2);
}

TEST(Detailed, RefusesAttentionInFourBits) {
  AttentionShape shape{.batch = 1, .query_heads = 8, .kv_heads = 8, .query_length = 4096, .kv_length = 4096};
  shape.type = DataType::fp4;
  EXPECT_THROW(play_kernel(attention(shape), testing::device_from("use: b200_sxm\n"), LaunchMode::graph), UserError);
}

// Tiles shrink to what an SM has: nobody but the caller can ask for one that does not fit.
TEST(Detailed, FindsRoomForItsOwnTilesOnSmallSms) {
  for (const char* name : {"t4", "v100_sxm_32gb", "l40s", "a100_sxm"}) {
    const DeviceSpec device = testing::device_from(std::string("use: ") + name + "\n");
    const auto plays = [&](const Kernel& kernel) {
      EXPECT_NO_THROW(play_kernel(kernel, device, LaunchMode::graph)) << name << ", " << kernel.family;
    };
    plays(gemm({.m = 4096, .n = 4096, .k = 4096, .input = DataType::fp16, .output = DataType::fp16}));
    for (const std::int64_t head_dim : {64, 96, 128, 192, 256}) {
      AttentionShape shape{.batch = 1, .query_heads = 8, .kv_heads = 8, .query_length = 2048, .kv_length = 2048};
      shape.type = DataType::fp16;
      shape.head_dim = head_dim;
      plays(attention(shape));
      shape.backward = true;
      plays(attention(shape));
      shape.backward = false;
      shape.query_length = 1;
      plays(attention(shape));
    }
  }
}

TEST(Detailed, ReadsNoFasterThanTheMemoryWithEverySm) {
  AttentionShape shape{.batch = 64, .query_heads = 32, .kv_heads = 8, .query_length = 1, .kv_length = 8192};
  for (const char* name : {"l40s", "h100_sxm"}) {
    const DeviceSpec device = testing::device_from(std::string("use: ") + name + "\n");
    const DetailedKernel played = play_kernel(attention(shape), device, LaunchMode::graph, {.all_sms = true});
    const DetailedResult& program = played.programs.back();
    const double seconds = program.cycles / played.clock.value();
    EXPECT_LT(program.from_memory() / seconds / device.reached_bandwidth().value(), 1.02) << name;
  }
}

TEST(Detailed, StopsWhereAProgramWouldTakeForEver) {
  const KernelProgram program =
      parse_program("stream s\nrole a\nloop 1000\nstore s bytes=1000000000000 x1000000\nend\n", "test");
  EXPECT_THROW(simulate_detailed(program, testing::h100(), testing::h100().clock.max), UserError);
}

TEST(Detailed, RefusesATypeThatTheDeviceLacks) {
  EXPECT_THROW(
      play_kernel(gemm({.m = 64, .n = 64, .k = 64, .input = DataType::fp4}), testing::h100(), LaunchMode::graph),
      UserError);
}

TEST(Detailed, SaysWhichWarpsWaitForEver) {
  KernelProgram program;
  program.name = "stuck";
  program.rings = {{"never", 2, 0, 0, 0}};
  program.roles = {{"waiter", 1, 32, Code().wait(0).list()}};
  program.blocks = {{1, 1}};
  try {
    simulate_detailed(program, testing::h100(), 1.98_GHz);
    FAIL() << "it ended";
  } catch (const UserError& error) {
    EXPECT_NE(error.message().find("`waiter` at `never`"), std::string::npos) << error.message();
  }
}

}  // namespace
}  // namespace warploom
