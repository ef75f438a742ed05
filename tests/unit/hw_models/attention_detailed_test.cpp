// SPDX-License-Identifier: Apache-2.0
// Attention inside a device: which kernels an operation has, and what holds them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "hw_models/detailed_timer.hpp"
#include "hw_models/kernels/attention.hpp"
#include "hw_models/programs/attention_program.hpp"
#include "hw_models/programs/attention_serving.hpp"
#include "hw_models/programs/attention_work.hpp"
#include "hw_models/programs/code.hpp"
#include "hw_models/programs/mla_program.hpp"
#include "tests/unit/hw_models/detailed_fixture.hpp"
#include "tests/unit/hw_models/devices.hpp"

namespace warploom {
namespace {

using namespace literals;
using testing::a100;
using testing::device_from;
using testing::h100;

class DetailedAttention : public testing::WithDetailedModel {};

AttentionShape prefill(std::int64_t batch, std::int64_t heads, std::int64_t length, std::int64_t head_dim = 128) {
  AttentionShape shape;
  shape.batch = batch;
  shape.query_heads = shape.kv_heads = heads;
  shape.query_length = shape.kv_length = length;
  shape.head_dim = head_dim;
  shape.warm = true;
  return shape;
}

bool has_program(const std::vector<KernelProgram>& programs, const std::string& part) {
  return std::ranges::any_of(programs,
                             [&](const KernelProgram& one) { return one.name.find(part) != std::string::npos; });
}

double seconds(const AttentionShape& shape, const DeviceSpec& device) {
  return play_kernel(attention(shape), device, LaunchMode::graph, {}).cost.duration.seconds();
}

TEST_F(DetailedAttention, FollowsTheSpecialFunctionsAsGroupsTakeTurnsAtTheTensorCores) {
  const std::string unlimited = "power.limit=100 kW";
  for (const std::int64_t head_dim : {64, 128}) {
    const AttentionShape shape = prefill(4, 32, 8192, head_dim);
    const double usual = seconds(shape, h100({unlimited}));
    const double fewer = seconds(shape, h100({unlimited, "sm.special_function_lanes=12"}));
    const double elasticity = std::log(fewer / usual) / std::log(16.0 / 12);
    EXPECT_GT(elasticity, 0.2) << head_dim;
    EXPECT_LT(elasticity, 0.8) << head_dim;
  }
}

TEST_F(DetailedAttention, OneGroupsProductsRunUnderTheOthersSoftmax) {
  const AttentionShape shape = prefill(4, 32, 8192);
  const DetailedKernel played = play_kernel(attention(shape), h100({"power.limit=100 kW"}), LaunchMode::graph, {});
  const DetailedResult& main = played.programs.front();
  EXPECT_GT(main.share(main.sm.tensor), 0.8);  // products and exponentials one after the other: two thirds
  EXPECT_LT(main.share(main.sm.tensor), 1.0);
}

TEST(AttentionPrograms, AnEngineHandsOverNarrowQueries) {
  AttentionShape shape = prefill(4, 8, 1024);
  shape.kv_type = DataType::fp8;
  EXPECT_TRUE(has_program(attention_programs(shape, h100()), "queries to 8 bits"));
  shape.serving = true;
  EXPECT_FALSE(has_program(attention_programs(shape, h100()), "queries to 8 bits"));
}

TEST(AttentionPrograms, KeysAreCutWhereOneSequenceDoesNotFillTheSms) {
  AttentionShape shape = prefill(1, 1, 6144);
  shape.serving = true;
  EXPECT_TRUE(has_program(attention_programs(shape, h100()), "sum of"));
  shape.query_heads = shape.kv_heads = 8;  // 384 blocks
  EXPECT_FALSE(has_program(attention_programs(shape, h100()), "sum of"));
}

TEST(AttentionPrograms, BlocksOfAllPartsDoTheStepsOfAllKeys) {
  AttentionShape shape = prefill(1, 1, 6144);
  shape.serving = true;
  const auto steps = [](const std::vector<KernelProgram>& programs) {
    for (const KernelProgram& program : programs) {
      if (program.name.find("wgmma") == std::string::npos) continue;
      std::int64_t sum = 0;
      for (const BlockGroup& group : program.blocks) sum += group.blocks * (group.turns + 1);
      return sum;
    }
    return std::int64_t{0};
  };
  const std::int64_t cut = steps(attention_programs(shape, h100()));
  shape.serving = false;
  const std::int64_t whole = steps(attention_programs(shape, h100()));
  EXPECT_GE(cut, whole);
  EXPECT_LE(cut, whole + 2 * 48);  // each of 48 blocks rounds its parts up
}

TEST(AttentionPrograms, HalfOfAnL2OfTwoPartitionsIsOfUseTheNextTime) {
  AttentionShape shape = prefill(1, 1, 128);
  shape.query_length = 1;
  shape.kv_length = 65536;  // 33.6 MB of keys and values: two thirds of 50 MB, and of 96 MB a third
  EXPECT_EQ(found_in_l2(shape, h100()), 0);
  EXPECT_EQ(found_in_l2(shape, device_from("use: l40s\n")), 1);
  shape.warm = false;
  EXPECT_EQ(found_in_l2(shape, device_from("use: l40s\n")), 0);
}

TEST(AttentionPrograms, EveryThreadOfATokensWriteDividesAndFewCopy) {
  AttentionShape shape = prefill(4, 4, 1024);
  shape.serving = true;
  const KernelProgram program = cache_write_program(shape, h100());
  ASSERT_EQ(program.roles.size(), 2u);
  EXPECT_EQ(program.warps(), 16);        // a thread for each of 512 elements
  EXPECT_EQ(program.roles[0].warps, 2);  // of 8 elements a thread
  EXPECT_EQ(program.block_count(), 4096);
}

TEST_F(DetailedAttention, ProductsHideTheFragmentsThatAreReadAmongThem) {
  const DeviceSpec device = a100();
  const auto cycles = [&](std::int64_t fragments) {
    KernelProgram program;
    program.name = "products";
    const Instruction products{.op = Op::mma, .count = 64, .bytes = fragments, .m = 16, .n = 8, .k = 16};
    program.roles = {{"warp", 1, 64, Code().loop(200).add(products).end().drain().list()}};
    program.blocks = {{1, 1}};
    return simulate_detailed(program, device, device.clock.max).cycles / 200;
  };
  const double products = 64 * 2.0 * 16 * 8 * 16 / (2048 / 4);  // of one sub-partition
  EXPECT_NEAR(cycles(0), products, 0.05 * products);
  EXPECT_NEAR(cycles(32 * 1024), products, 0.05 * products);  // 256 cycles of 128 bytes
  EXPECT_NEAR(cycles(4 * 64 * 1024), 2048, 0.05 * 2048);      // 4 times as many as products take
}

TEST_F(DetailedAttention, BlocksThatStayAreLaunchedOnce) {
  const DeviceSpec device = h100();
  const auto cycles = [&](bool is_persistent) {
    KernelProgram program;
    program.name = "blocks";
    program.is_persistent = is_persistent;
    program.shared_memory = Bytes(200 * 1024);  // one an SM
    program.roles = {{"warps", 4, 32, Code().alu(1000).list()}};
    program.blocks = {{10LL * device.sm.count, 1}};
    return simulate_detailed(program, device, device.clock.max).cycles;
  };
  const double start = device.architecture.pipeline.block_start.value();
  EXPECT_NEAR(cycles(false) - cycles(true), 9 * start, 0.1 * 9 * start);
}

}  // namespace
}  // namespace warploom
