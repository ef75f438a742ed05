// SPDX-License-Identifier: Apache-2.0
// Stream-K, deterministic and sparse products: what they share with the usual one, and what they cost beside it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "hw_models/detailed_cache.hpp"
#include "hw_models/detailed_timer.hpp"
#include "hw_models/kernels.hpp"
#include "hw_models/kernels/attention.hpp"
#include "hw_models/kernels/attention_tiling.hpp"
#include "hw_models/kernels/gemm.hpp"
#include "hw_models/kernels/gemm_blocking.hpp"
#include "hw_models/kernels/stream_k.hpp"
#include "hw_models/programs/gemm_program.hpp"
#include "sim/core/errors.hpp"
#include "tests/unit/hw_models/devices.hpp"

namespace warploom {
namespace {

double detailed_us(const GemmShape& shape, const DeviceSpec& device, const DetailedOptions& options = {}) {
  return play_kernel(gemm(shape), device, LaunchMode::graph, options).cost.duration.microseconds();
}
double analytic_us(const GemmShape& shape, const DeviceSpec& device) {
  return kernel_family("gemm").cost(gemm(shape), device).duration.microseconds();
}

std::string refusal(const GemmShape& shape, const DeviceSpec& device = testing::h100()) {
  try {
    kernel_family("gemm").check(gemm(shape));
    kernel_family("gemm").cost(gemm(shape), device);
    play_kernel(gemm(shape), device, LaunchMode::graph);
    return {};
  } catch (const UserError& error) {
    return error.what();
  }
}

// So many tiles of 128 x 128, in rows and columns that share operands as far as the number allows.
GemmShape tiles_of(std::int64_t tiles, std::int64_t k, bool is_stream_k) {
  auto rows = static_cast<std::int64_t>(std::sqrt(static_cast<double>(tiles)));
  while (tiles % rows != 0) --rows;
  return {.m = 128 * rows, .n = 128 * (tiles / rows), .k = k, .is_stream_k = is_stream_k, .tile_m = 128, .tile_n = 128};
}

TEST(StreamK, DoesAllStepsOnceAndEvenly) {
  for (const std::int64_t tiles : {1, 7, 66, 100, 131, 133, 200, 264 + 5, 1000}) {
    for (const std::int64_t steps : {9, 16, 64, 257}) {
      const auto all = stream_k_work(tiles, steps, 132, 4);
      if (all.empty()) continue;
      std::int64_t sum = 0;
      std::int64_t cut = 0;
      std::int64_t read = 0;
      std::int64_t longest = 0;
      std::int64_t results = 0;
      for (const StreamKWork& work : all) {
        const std::int64_t own = work.begun + work.whole * steps + work.finished;
        sum += own;
        longest = std::max(longest, own);
        cut += work.begun > 0 ? 1 : 0;
        read += work.peers;
        results += work.whole + (work.finished > 0 ? 1 : 0);
        EXPECT_TRUE(work.begun == 0 || work.begun >= 4);
        EXPECT_TRUE(work.finished == 0 || work.finished >= 4);
      }
      EXPECT_EQ(sum, tiles * steps) << tiles << " tiles of " << steps;
      EXPECT_EQ(results, tiles);
      EXPECT_EQ(cut, read);  // what is left in memory is added once
      const auto workers = static_cast<std::int64_t>(all.size());
      EXPECT_LE(longest, (tiles * steps + workers - 1) / workers + 2 * 4);
    }
  }
}

TEST(StreamK, LeavesFullWavesAndShallowTilesAlone) {
  EXPECT_TRUE(stream_k_work(264, 64, 132, 4).empty());
  EXPECT_TRUE(stream_k_work(100, 8, 132, 4).empty());
  const DeviceSpec device = testing::h100();
  EXPECT_EQ(detailed_us(tiles_of(264, 4096, true), device), detailed_us(tiles_of(264, 4096, false), device));
}

TEST(StreamK, SavesTheLastWaveWhereWavesQuantiseBadly) {
  for (const char* name : {"use: h100_sxm\n", "use: b200_sxm\n", "use: a100_sxm\n"}) {
    const DeviceSpec device = testing::device_from(name, {"power.limit=100 kW"});
    // A few more than a wave; blocks of `mma` stand two on an SM.
    const int places = device.architecture.pipeline.tensor_unit == TensorUnit::mma ? 2 : 1;
    const std::int64_t tiles = device.sm.count * places + 12;
    const double usual = detailed_us(tiles_of(tiles, 16384, false), device);
    const double spread = detailed_us(tiles_of(tiles, 16384, true), device);
    EXPECT_LT(spread, 0.75 * usual) << name;
    EXPECT_GT(spread, 0.45 * usual) << name;
    EXPECT_LT(analytic_us(tiles_of(tiles, 16384, true), device), analytic_us(tiles_of(tiles, 16384, false), device));
  }
}

TEST(StreamK, IsNeverSlowerThanWholeTilesByMoreThanItsSums) {
  const DeviceSpec device = testing::h100({"power.limit=100 kW"});
  for (const std::int64_t tiles : {20, 66, 100, 130, 140, 200, 260, 280, 396 - 4}) {
    const double usual = detailed_us(tiles_of(tiles, 4096, false), device);
    const double spread = detailed_us(tiles_of(tiles, 4096, true), device);
    // A tile's sums, written and read by one SM at its port's rate, a few latencies, and those of at most 8 peers.
    const double peers = std::max(1.0, 132.0 / static_cast<double>(tiles));
    const double bytes = 4.0 * 128 * 128 * (1 + peers);
    const double cycles = bytes / device.l2.bytes_per_cycle_per_sm + (2 + peers) * 2 * device.l2.latency.value() + 4000;
    EXPECT_LE(spread, usual + cycles / device.clock.max.value() * 1e6) << tiles << " tiles";
  }
}

TEST(StreamK, IssuesAsManyProductsAsWholeTiles) {
  const DeviceSpec device = testing::h100({"power.limit=100 kW"});
  const auto issued = [&](bool is_stream_k) {
    const DetailedKernel played =
        play_kernel(gemm(tiles_of(140, 4096, is_stream_k)), device, LaunchMode::graph, {.all_sms = true});
    return played.programs.front().scale * played.programs.front().sm.tensor_flops;
  };
  EXPECT_NEAR(issued(true) / issued(false), 1, 1e-6);
}

TEST(StreamK, StandsForAllSmsWithOne) {
  const DeviceSpec device = testing::h100({"power.limit=100 kW"});
  const GemmShape shape{
      .m = 1280, .n = 4608, .k = 8192, .is_stream_k = true, .tile_m = 128, .tile_n = 256};  // 180 tiles
  // Some begin a tile, some end one, some both: what stands for all is one of them.
  EXPECT_NEAR(detailed_us(shape, device, {.all_sms = true}) / detailed_us(shape, device), 1, 0.06);
}

TEST(Deterministic, HasOneTileWhateverMIs) {
  const DeviceSpec device = testing::h100();
  for (const std::int64_t m : {1, 16, 100, 4096, 100000}) {
    const GemmBlocking blocking =
        choose_gemm_blocking({.m = m, .n = 4096, .k = 16384, .is_deterministic = true}, device);
    EXPECT_EQ(blocking.tile.m, 128);
    EXPECT_EQ(blocking.tile.n, 128);
    EXPECT_EQ(blocking.parts, 1);
    EXPECT_FALSE(blocking.is_stream_k);
  }
}

TEST(Deterministic, CostsMostWhereTheLibraryWouldCutK) {
  const DeviceSpec device = testing::h100();
  const GemmShape few{.m = 16, .n = 4096, .k = 16384};
  GemmShape fixed = few;
  fixed.is_deterministic = true;
  EXPECT_GT(analytic_us(fixed, device), 1.2 * analytic_us(few, device));
  EXPECT_GT(detailed_us(fixed, device), 1.2 * detailed_us(few, device));
}

TEST(Deterministic, ExcludesWhatCutsK) {
  EXPECT_NE(refusal({.m = 64, .n = 64, .k = 640, .is_deterministic = true, .split_k = 2}).find("split_k"),
            std::string::npos);
  EXPECT_NE(refusal({.m = 64, .n = 64, .k = 640, .is_stream_k = true, .is_deterministic = true}).find("stream_k"),
            std::string::npos);
  EXPECT_NE(refusal({.m = 64, .n = 64, .k = 640, .is_stream_k = true, .split_k = 2}).find("both cut k"),
            std::string::npos);
}

TEST(Deterministic, AttentionHasPartsOfOneLengthAndNotSoManyParts) {
  const DeviceSpec device = testing::h100();
  for (const std::int64_t batch : {1, 4, 64}) {
    const AttentionTiling tiling = attention_tiling({.batch = batch,
                                                     .query_heads = 32,
                                                     .kv_heads = 8,
                                                     .query_length = 1,
                                                     .kv_length = 10000,
                                                     .deterministic = true},
                                                    device);
    EXPECT_EQ(tiling.parts, 5);
    EXPECT_EQ(tiling.part_tiles * tiling.column_tile, 2048);
  }
}

TEST(Sparse, HalvesTheTimeOfProductsAndAlmostHalvesTheBytesOfTheWeight) {
  const DeviceSpec device = testing::h100({"power.limit=100 kW"});
  const GemmShape dense{.m = 8192, .n = 8192, .k = 8192};
  GemmShape sparse = dense;
  sparse.is_sparse = true;
  EXPECT_EQ(weight_bits(sparse), 9);  // half of 16, and two bits for each value that is kept
  const KernelFamily& family = kernel_family("gemm");
  EXPECT_EQ(family.bytes(gemm(dense)) - family.bytes(gemm(sparse)), Bytes(8192LL * 8192) * 2 * (7.0 / 16));
  for (const auto& us : {detailed_us(sparse, device) / detailed_us(dense, device),
                         analytic_us(sparse, device) / analytic_us(dense, device)}) {
    EXPECT_GT(us, 0.49);
    EXPECT_LT(us, 0.8);
  }
}

TEST(Sparse, GainsTheBytesOfTheWeightWhereMemoryBounds) {
  const DeviceSpec device = testing::h100();
  const GemmShape dense{.m = 16, .n = 16384, .k = 16384};
  GemmShape sparse = dense;
  sparse.is_sparse = true;
  const double nine_sixteenths = 9.0 / 16;
  EXPECT_NEAR(detailed_us(sparse, device) / detailed_us(dense, device), nine_sixteenths, 0.1);
  EXPECT_NEAR(analytic_us(sparse, device) / analytic_us(dense, device), nine_sixteenths, 0.1);
}

TEST(Sparse, IsRefusedWhereTensorCoresHaveNone) {
  const GemmShape sparse{.m = 512, .n = 512, .k = 512, .input = DataType::fp16, .is_sparse = true};
  EXPECT_NE(refusal(sparse, testing::device_from("use: v100_sxm_32gb\n")).find("since Ampere"), std::string::npos);
  GemmShape narrow = sparse;
  narrow.input = DataType::fp8;
  DeviceSpec device = testing::h100();
  device.sparse_tensor.erase("fp8");
  EXPECT_NE(refusal(narrow, device).find("no 2:4 structured sparsity in fp8"), std::string::npos);
  GemmShape single = sparse;
  single.input = single.output = DataType::fp32;
  EXPECT_NE(refusal(single).find("Tensor Cores"), std::string::npos);
}

TEST(GemmPrograms, RefuseATileWhoseSumsFitNoThread) {
  const GemmShape large{.m = 4096, .n = 4096, .k = 512, .tile_m = 512, .tile_n = 256};
  EXPECT_NE(refusal(large).find("512 x 256 / 256 = 512 sums a thread"), std::string::npos) << refusal(large);
  EXPECT_NE(refusal(large, testing::a100()).find("sums a thread"), std::string::npos);
  EXPECT_NE(refusal(large, testing::device_from("use: b200_sxm\n")).find("it has 512"), std::string::npos);
}

TEST(GemmPrograms, HaveOnePersistentBlockAnSmWhereTwoWouldFit) {
  // 440 tiles over 148 SMs: most blocks have three of them, four have two.
  const DeviceSpec device = testing::device_from("use: b200_sxm\n", {"power.limit=100 kW"});
  const GemmShape shape{.m = 64 * 22, .n = 128 * 20, .k = 4096, .tile_m = 64, .tile_n = 128};
  EXPECT_NEAR(detailed_us(shape, device, {.all_sms = true}) / detailed_us(shape, device), 1, 0.06);
}

TEST(GemmVariants, HaveKeysOfTheirOwn) {
  const DetailedKey device = device_key(testing::h100());
  const auto key = [&](const GemmShape& shape) { return detailed_key(gemm(shape), device, LaunchMode::graph, {}); };
  const GemmShape usual{.m = 512, .n = 512, .k = 512};
  std::vector<GemmShape> variants(5, usual);
  variants[0].is_stream_k = true;
  variants[1].is_deterministic = true;
  variants[2].is_sparse = true;
  variants[3].stages = 4;
  variants[4].cluster = 1;
  for (const GemmShape& variant : variants) {
    EXPECT_FALSE(key(variant) == key(usual));
    const GemmShape back = gemm_shape(gemm(variant));
    EXPECT_EQ(gemm(back), gemm(variant));
  }
}

}  // namespace
}  // namespace warploom
