// SPDX-License-Identifier: Apache-2.0
// Mixtures of experts: who gets which tokens, tiles, and what is moved.
#include "hw_models/kernels/moe.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "hw_models/kernels.hpp"
#include "hw_models/kernels/expert_loads.hpp"
#include "hw_models/kernels/moe_tiles.hpp"
#include "sim/core/errors.hpp"
#include "tests/unit/hw_models/devices.hpp"

namespace warploom {
namespace {

std::int64_t sum_of(const std::vector<std::int64_t>& loads) {
  return std::accumulate(loads.begin(), loads.end(), std::int64_t{0});
}

KernelCost cost_of(const MoeShape& shape, const DeviceSpec& device) {
  const Kernel kernel = moe(shape);
  kernel_family("moe").check(kernel);
  return kernel_family("moe").cost(kernel, device);
}

TEST(ExpertLoads, GiveEveryTokenItsExperts) {
  for (const double exponent : {0.0, 1.01, 1.2}) {
    for (const std::int64_t tokens : {1, 7, 100, 65536}) {
      for (const Leftovers leftovers : {Leftovers::by_turns, Leftovers::one_by_one}) {
        for (const auto& loads : expert_loads({tokens, 8, 256, 256, exponent, 0, leftovers})) {
          EXPECT_EQ(std::accumulate(loads.begin(), loads.end(), std::int64_t{0}), tokens * 8) << exponent;
          EXPECT_LE(*std::max_element(loads.begin(), loads.end()), tokens);
        }
      }
    }
  }
}

TEST(ExpertLoads, TheHeaviestDeviceHasAtLeastItsShare) {
  for (const auto& loads : expert_loads({4096, 8, 256, 32, 1.2})) {
    EXPECT_EQ(loads.size(), 32u);
    EXPECT_GT(std::accumulate(loads.begin(), loads.end(), std::int64_t{0}), 4096 * 8 / 8);
  }
}

TEST(ExpertLoads, AlikeIsAlikeWhateverTheTokens) {
  const auto spread = [](std::int64_t tokens) {
    const auto loads = expert_loads({tokens, 8, 256, 256}).front();
    return *std::max_element(loads.begin(), loads.end()) - *std::min_element(loads.begin(), loads.end());
  };
  for (const std::int64_t tokens : {1, 31, 32, 33, 100, 256, 1000}) EXPECT_LE(spread(tokens), 1) << tokens;
  EXPECT_EQ(spread(256), 0);
}

TEST(ExpertLoads, OneTokenGoesToAllDevicesByTurnsButToOneDeviceOneByOne) {
  const auto sum = [](Leftovers leftovers) {
    const auto loads = expert_loads({1, 8, 256, 32, 1.2, 0, leftovers}).front();
    return std::accumulate(loads.begin(), loads.end(), std::int64_t{0});
  };
  EXPECT_EQ(sum(Leftovers::by_turns), 1);
  EXPECT_EQ(sum(Leftovers::one_by_one), 8);
}

// Eight experts of eight groups, but only four groups: four of its own, and the first experts of the first group.
TEST(ExpertLoads, GroupsSendTokensWhoseGroupsAreNotKeptToTheFirstExperts) {
  const auto loads = expert_loads({1024, 8, 256, 256, 0, 8}).front();
  EXPECT_EQ(std::accumulate(loads.begin(), loads.end(), std::int64_t{0}), 1024 * 8);
  EXPECT_GT(loads[0], 1024 * 9 / 10);
  EXPECT_EQ(std::accumulate(loads.begin() + 128, loads.end(), std::int64_t{0}), 0);
}

TEST(Moe, FewTokensReadOnlyTheirExperts) {
  MoeShape shape{.tokens = 1, .hidden = 4096, .intermediate = 1024, .top_k = 2, .experts = 8, .local_experts = 8};
  EXPECT_EQ(bytes(moe(shape)), Bytes(2L * 3 * 4096 * 1024 * 2 + 2L * 4096 * 2));
  EXPECT_DOUBLE_EQ(flops(moe(shape)).value(), 6.0 * 2 * 4096 * 1024);
  shape.is_gated = false;
  EXPECT_DOUBLE_EQ(flops(moe(shape)).value(), 4.0 * 2 * 4096 * 1024);
  shape.top_k = 9;
  EXPECT_THROW(flops(moe(shape)), UserError);
}

TEST(Moe, TunedTablesHaveLargerTilesThanTheFirstDefaults) {
  MoeConstants constants;
  constants.tile_rule = MoeTileRule::vllm_first;
  constants.main_loop = 0.6;
  constants.untuned_main_loop = 0.3;
  const MoeShape shape{.tokens = 4096, .hidden = 4096, .intermediate = 1792, .experts = 8, .local_experts = 8};
  const MoeTile first = moe_tile(shape, 1024, constants);
  constants.tuned = {{8, 1792}};
  const MoeTile tuned = moe_tile(shape, 1024, constants);
  EXPECT_GT(tuned.rows * tuned.columns, first.rows * first.columns);
  EXPECT_DOUBLE_EQ(tuned.main_loop / first.main_loop, 2);
}

// Loads of all experts are only seen where one device has them all; `expert_loads` itself throws where any is lost.
TEST(ExpertLoads, LoseNoAssignmentWhereDevicesAreFull) {
  for (const double exponent : {0.0, 0.5, 1.2, 10.0}) {
    for (const std::int64_t top_k : {1, 3, 4, 7, 8}) {
      for (const std::int64_t tokens : {1, 2, 5, 64, 4097}) {
        for (const std::int64_t local : {1, 2, 8}) {
          for (const std::int64_t groups : {0, 2}) {
            if (groups > 0 && top_k > 4) continue;
            for (const Leftovers leftovers : {Leftovers::by_turns, Leftovers::one_by_one}) {
              for (const auto& loads : expert_loads({tokens, top_k, 8, local, exponent, groups, leftovers})) {
                EXPECT_LE(*std::max_element(loads.begin(), loads.end()), tokens);
                EXPECT_TRUE(local < 8 || sum_of(loads) == tokens * top_k) << tokens << ' ' << top_k;
              }
            }
          }
        }
      }
    }
  }
}

TEST(ExpertLoads, AllExpertsATokenGiveEachOneAllTokens) {
  for (const auto& loads : expert_loads({100, 8, 8, 8, 1.2})) EXPECT_EQ(loads, std::vector<std::int64_t>(8, 100));
}

// 5 of 6 in strides of two would be 0, 2, 4, 0, 2.
TEST(ExpertLoads, AlikeSendsATokenToNoExpertTwice) {
  for (const std::int64_t experts : {6, 8, 10, 97}) {
    for (std::int64_t top_k = 1; top_k <= experts; ++top_k) {
      for (const std::int64_t tokens : {1, 2, 3, 50}) {
        const auto loads = expert_loads({tokens, top_k, experts, experts}).front();
        EXPECT_LE(*std::max_element(loads.begin(), loads.end()), tokens) << top_k << " of " << experts;
        EXPECT_EQ(sum_of(loads), tokens * top_k);
      }
    }
  }
}

TEST(ExpertLoads, ASampleOfTokensCountsForAllOfThem) {
  for (const double exponent : {0.0, 1.2}) {
    for (const std::int64_t tokens : {2049, 5000, 1'000'003}) {
      for (const auto& loads : expert_loads({tokens, 8, 256, 256, exponent, 8})) EXPECT_EQ(sum_of(loads), tokens * 8);
    }
  }
}

TEST(Moe, RefusesLoadsBeyondAnyModel) {
  const MoeShape usual{
      .tokens = 64, .hidden = 64, .intermediate = 64, .top_k = 4, .experts = 512, .local_experts = 512};
  const auto refuses = [&](auto change) {
    MoeShape shape = usual;
    change(shape);
    EXPECT_THROW(kernel_family("moe").check(moe(shape)), UserError);
  };
  EXPECT_NO_THROW(kernel_family("moe").check(moe(usual)));
  refuses([](MoeShape& shape) { shape.skew = 1001; });
  refuses([](MoeShape& shape) { shape.top_k = 257; });
  refuses([](MoeShape& shape) { shape.experts = shape.local_experts = 4097; });
  refuses([](MoeShape& shape) { shape.groups = 512; });
}

TEST(Moe, TheSteepestSkewHasAFiniteCost) {
  MoeShape shape{.tokens = 64, .hidden = 64, .intermediate = 64, .top_k = 4, .experts = 8, .local_experts = 1};
  shape.groups = 2;
  for (const std::int64_t skew : {0, 50, 100, 120, 1000}) {
    shape.skew = skew;
    const KernelCost cost = cost_of(shape, testing::h100());
    EXPECT_GT(cost.duration, Time::zero()) << skew;
    EXPECT_LT(cost.duration, 1_ms) << skew;
  }
}

// All tokens of a device's memory in one layer of as many experts as are allowed.
TEST(Moe, TheLargestLayersAreCountedInNoTime) {
  MoeShape shape{.tokens = 65'536, .hidden = 64, .intermediate = 64, .top_k = 256, .experts = 4096};
  shape.local_experts = 4096;
  shape.groups = 8;
  shape.skew = 120;
  const auto begin = std::chrono::steady_clock::now();
  cost_of(shape, testing::h100());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

// TRT-LLM's tiles of one row of tiles come first: an expert's weights beyond the kept share are read for each.
TEST(Moe, CountsWeightsThatAreReadAgain) {
  MoeShape shape{.tokens = 1, .hidden = 8192, .intermediate = 28672, .top_k = 1, .experts = 1, .local_experts = 1};
  const DeviceSpec device = testing::device_from("use: b200_sxm\n");
  const double weights = 3.0 * 8192 * 28672 * 2;
  shape.tokens = 128;
  const double once = static_cast<double>(cost_of(shape, device).hbm_bytes.count());
  EXPECT_NEAR(once / weights, 1, 0.1);
  shape.tokens = 512;
  EXPECT_NEAR(static_cast<double>(cost_of(shape, device).hbm_bytes.count()) / weights, 4, 0.2);
}

}  // namespace
}  // namespace warploom
