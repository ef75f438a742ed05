// SPDX-License-Identifier: Apache-2.0
// Which kernel a GEMM gets: from a name and a grid, from a table, by the rule, in this order.
#include "hw_models/kernels/gemm_choice.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "hw_models/detailed_cache.hpp"
#include "hw_models/kernels/gemm_blocking.hpp"
#include "hw_models/kernels/gemm_kernel_name.hpp"
#include "sim/core/errors.hpp"
#include "tests/unit/hw_models/devices.hpp"

namespace warploom {
namespace {

std::string mistake_of(const std::string& name) {
  try {
    parse_gemm_kernel_name(name);
    return {};
  } catch (const UserError& error) {
    return error.what();
  }
}

struct Expected {
  const char* name;
  std::int64_t a, b, k, stages, cluster;
};

TEST(GemmKernelName, SaysTileAndPipelineInEveryLibrarysWay) {
  const Expected names[] = {
      {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__"
       "5x_"
       "cublas",
       128, 128, 64, 0, 0},
      {"sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize192x128x32_stage4_warpsize4x2x1_tensor16x8x16_kernel", 192, 128,
       32, 4, 0},
      {"ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_tn", 128, 256, 64, 3, 0},
      {"ampere_fp16_s1688gemm_fp16_256x64_ldg8_f2f_tn", 256, 64, 0, 0, 0},
      {"void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm_relu_f16_128x128_32x5_tn_align8>(cutlass_80_tensorop_"
       "f16_s16816gemm_relu_f16_128x128_32x5_tn_align8::Params)",
       128, 128, 32, 5, 0},
      {"cutlass3x_sm90_tensorop_s64x128x16gemm_f16_f16_f32_void_f16_128x128x64_2x1x1_0_tnn_align8_warpspecialized", 128,
       128, 64, 0, 2},
      {"nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNN", 128, 256, 64, 4, 2},
      {"nvjet_sm100_tst_64x16_64x16_2x4_2cta_h_bz_splitK_TNT", 64, 16, 64, 16, 8},
      {"nvjet_sm120_tst_mma_64x64x128_3_32x32x128_tmaAB_alignCD4_bz_TNNN", 64, 64, 128, 3, 0},
  };
  for (const Expected& one : names) {
    const GemmKernelName name = parse_gemm_kernel_name(one.name);
    EXPECT_EQ(name.tile_a, one.a) << one.name;
    EXPECT_EQ(name.tile_b, one.b) << one.name;
    EXPECT_EQ(name.tile_k, one.k) << one.name;
    EXPECT_EQ(name.stages, one.stages) << one.name;
    EXPECT_EQ(name.cluster, one.cluster) << one.name;
    EXPECT_FALSE(name.is_on_lanes) << one.name;
  }
}

TEST(GemmKernelName, TellsLanesPartsAndLayoutApart) {
  const GemmKernelName lanes = parse_gemm_kernel_name("volta_sgemm_32x32_sliced1x4_tn");
  EXPECT_TRUE(lanes.is_on_lanes);
  EXPECT_TRUE(lanes.is_sliced);
  EXPECT_TRUE(lanes.is_transposed);
  const GemmKernelName xmma = parse_gemm_kernel_name(
      "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x64x8_stage3_warpsize1x4x1_ffma_aligna4_alignc4_execute_kernel__"
      "5x_cublas");
  EXPECT_TRUE(xmma.is_on_lanes);
  EXPECT_FALSE(xmma.is_transposed);
  EXPECT_EQ(xmma.threads, 128);
  EXPECT_TRUE(parse_gemm_kernel_name("nvjet_hsh_64x8_64x16_4x1_v_bz_splitK_TNT").cuts_k);
  EXPECT_FALSE(parse_gemm_kernel_name("sm90_xmma_gemm_x_tilesize64x64x64_execute_segment_k_off_kernel").cuts_k);
  EXPECT_TRUE(parse_gemm_kernel_name("cutlass3x_sm90_gemm_128x128x64_1x1x1_0_tnn_stream_k").is_stream_k);
}

TEST(GemmKernelName, RefusesWhatItDoesNotUnderstandWithTheReason) {
  EXPECT_NE(mistake_of("void splitKreduce_kernel<32, 16, int, float>(float*)").find("adds the parts"),
            std::string::npos);
  EXPECT_NE(mistake_of("void gemmk1_kernel<int, float, 256, 5>()").find("k of 1"), std::string::npos);
  EXPECT_NE(mistake_of("gemv2T_kernel_val").find("vector"), std::string::npos);
  EXPECT_NE(mistake_of("triton_tem_fused_gemm_0").find("Triton"), std::string::npos);
  EXPECT_NE(mistake_of("flash_fwd_kernel").find("`gemm`"), std::string::npos);
  EXPECT_NE(mistake_of("ampere_sgemm_tn").find("no tile"), std::string::npos);
  EXPECT_NE(mistake_of("ampere_sgemm_0x128_tn").find("no tile"), std::string::npos);
  EXPECT_NE(mistake_of("ampere_sgemm_128x99999_tn").find("99999"), std::string::npos);
  EXPECT_NE(mistake_of("nvjet_tst_128x256_64x400_2x1").find("400"), std::string::npos);
  EXPECT_NE(mistake_of("").find("no letters"), std::string::npos);
  EXPECT_NE(mistake_of(std::string(20000, 'x')).find("20000"), std::string::npos);
}

TEST(GemmKernelName, IsRefusedOrWithinItsBoundsWhateverTheBytes) {
  std::mt19937 random(11);  // NOLINT(cert-msc51-cpp): the same names every time
  const std::string parts[] = {"gemm",    "nvjet",  "_",  "128x64", "64x3",   "x",          "99999999999999999999",
                               "cutlass", "stages", "-1", "\xff",   "splitK", "tilesize1x", "1x1x1x1x1",
                               "0x0"};
  for (int i = 0; i < 5000; ++i) {
    std::string name;
    for (int j = 0; j < 12; ++j) name += parts[random() % std::size(parts)];
    try {
      const GemmKernelName read = parse_gemm_kernel_name(name);
      EXPECT_TRUE(read.tile_a >= 1 && read.tile_a <= 4096 && read.tile_b >= 1 && read.tile_b <= 4096) << name;
      EXPECT_TRUE(read.stages >= 0 && read.stages <= 64 && read.cluster >= 0 && read.cluster <= 16) << name;
    } catch (const UserError&) {
    }
  }
}

TEST(GemmKernelName, IsTurnedAsItsGridSays) {
  const GemmKernelName name = parse_gemm_kernel_name("ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_tn");
  const GemmShape shape{.m = 512, .n = 4096, .k = 4096};
  // cuBLAS counts in columns: 128 of n, 256 of m.
  EXPECT_EQ(with_kernel_name(shape, name, {}).tile_m, 256);
  EXPECT_EQ(with_kernel_name(shape, name, Grid{32, 2, 1}).tile_n, 128);
  // In a shape where the other way alone fits the grid.
  const GemmShape flat{.m = 128, .n = 4096, .k = 4096};
  EXPECT_EQ(with_kernel_name(flat, name, Grid{16, 1, 1}).tile_m, 128);
  EXPECT_EQ(with_kernel_name(flat, name, Grid{16, 1, 1}).tile_n, 256);
  EXPECT_EQ(with_kernel_name(shape, name, {}).stages, 3);
}

TEST(GemmKernelName, HasItsPartsFromTheGrid) {
  const GemmKernelName name = parse_gemm_kernel_name("nvjet_tst_64x8_64x16_2x1_v_bz_splitK_TNN");
  const GemmShape shape{.m = 8, .n = 4096, .k = 8192};
  EXPECT_EQ(with_kernel_name(shape, name, Grid{64, 1, 4}).split_k, 4);
  EXPECT_THROW(with_kernel_name(shape, name, {}), UserError);  // into how many?
  GemmShape said = shape;
  said.split_k = 3;
  EXPECT_EQ(with_kernel_name(said, name, {}).split_k, 3);
  EXPECT_THROW(with_kernel_name(shape, name, Grid{64, 1, 5000}), UserError);  // more parts than steps
  EXPECT_THROW(with_kernel_name(shape, name, Grid{2'147'483'647, 65535, 1}), UserError);
  EXPECT_THROW(parse_grid("1,2"), UserError);
  EXPECT_THROW(parse_grid("1,2,3,4"), UserError);
  EXPECT_THROW(parse_grid("1,0,1"), UserError);
  EXPECT_EQ(parse_grid("64,32,1"), (Grid{64, 32, 1}));
}

TEST(GemmKernelName, MustMultiplyInTheTypeThatIsAskedFor) {
  const GemmKernelName lanes = parse_gemm_kernel_name("ampere_sgemm_128x64_tn");
  EXPECT_THROW(with_kernel_name({.m = 512, .n = 512, .k = 512}, lanes, {}), UserError);
  const GemmShape single{.m = 512, .n = 512, .k = 512, .input = DataType::fp32, .output = DataType::fp32};
  EXPECT_EQ(with_kernel_name(single, lanes, {}).tile_n, 128);
}

const char* const table = R"(use: h100_sxm
architecture:
  gemm:
    selection:
      rows:
        - {dtype: bf16, m: {to: 64}, n: {from: 4096}, tile: {m: 64, n: 32}, split_k: 2, source: seen here}
        - {dtype: bf16, m: {to: 64}, tile: {m: 64, n: 48}, cluster: 1, stages: 4, source: seen there}
)";

TEST(GemmChoice, AsksTheCallerThenTheTableThenTheRule) {
  const DeviceSpec device = testing::device_from(table);
  const GemmShape shape{.m = 32, .n = 8192, .k = 4096};
  EXPECT_EQ(choose_gemm(shape, device).by, ChosenBy::table);
  EXPECT_EQ(choose_gemm(shape, device).blocking.tile.n, 32);
  EXPECT_EQ(choose_gemm(shape, device).blocking.parts, 2);
  GemmShape narrow = shape;
  narrow.n = 2048;
  EXPECT_EQ(choose_gemm(narrow, device).blocking.tile.n, 48);  // the first row that fits
  EXPECT_EQ(choose_gemm(narrow, device).blocking.stages, 4);
  GemmShape named = shape;
  named.tile_m = named.tile_n = 128;
  EXPECT_EQ(choose_gemm(named, device).by, ChosenBy::caller);
  GemmShape tall = shape;
  tall.m = 65;
  EXPECT_EQ(choose_gemm(tall, device).by, ChosenBy::rule);
  GemmShape half = shape;
  half.input = half.output = DataType::fp16;
  EXPECT_EQ(choose_gemm(half, device).by, ChosenBy::rule);
  EXPECT_EQ(choose_gemm(tall, device).blocking.tile.m, choose_gemm(tall, testing::h100()).blocking.tile.m);
}

TEST(GemmChoice, SaysWhoChoseAndWhy) {
  const DeviceSpec device = testing::device_from(table);
  const GemmShape shape{.m = 32, .n = 8192, .k = 4096};
  const KernelChoice by_table = gemm_kernel_choice(shape, device);
  EXPECT_EQ(by_table.by, "table");
  EXPECT_NE(by_table.why.find("row 1"), std::string::npos);
  EXPECT_NE(by_table.why.find("seen here"), std::string::npos);
  const KernelChoice by_rule = gemm_kernel_choice({.m = 512, .n = 4096, .k = 4096}, device);
  EXPECT_EQ(by_rule.by, "rule");
  EXPECT_LE(by_rule.candidates.size(), most_gemm_candidates);
  EXPECT_EQ(std::ranges::count_if(by_rule.candidates, &KernelCandidate::is_chosen), 1);
  EXPECT_EQ(by_rule.candidates.size() + by_rule.left_out, device.architecture.gemm.tiles.size());
  for (const KernelCandidate& one : by_rule.candidates) EXPECT_FALSE(one.why.empty()) << one.what;
  EXPECT_TRUE(std::ranges::is_sorted(by_rule.candidates, {}, &KernelCandidate::nominal));
}

TEST(GemmChoice, NamesCandidatesSoThatAnyModelTimesThem) {
  const DeviceSpec device = testing::h100();
  const KernelChoice choice = gemm_kernel_choice({.m = 512, .n = 4096, .k = 4096}, device);
  const auto chosen = std::ranges::find(choice.candidates, true, &KernelCandidate::is_chosen);
  ASSERT_NE(chosen, choice.candidates.end());
  EXPECT_EQ(kernel_family("gemm").cost(chosen->kernel, device).duration,
            kernel_family("gemm").cost(gemm({.m = 512, .n = 4096, .k = 4096}), device).duration);
}

TEST(GemmSelection, RefusesRowsThatContradictThemselves) {
  const auto mistakes = [](const std::string& row) {
    return testing::mistakes_of("use: h100_sxm\narchitecture: {gemm: {selection: {rows: [" + row + "]}}}\n");
  };
  EXPECT_EQ(mistakes("{dtype: bf16, tile: {m: 64, n: 64}, source: a profile}"), "");
  EXPECT_NE(mistakes("{dtype: bf16, m: {from: 9, to: 8}, tile: {m: 64, n: 64}, source: x}").find("from 9 to 8"),
            std::string::npos);
  EXPECT_NE(mistakes("{dtype: bf61, tile: {m: 64, n: 64}, source: x}").find("bf16"), std::string::npos);
  EXPECT_NE(mistakes("{dtype: bf16, tile: {m: 64, n: 64}}").find("source"), std::string::npos);
  EXPECT_NE(mistakes("{dtype: bf16, tile: {m: 64, n: 64}, split_k: 2, stream_k: true, source: x}").find("stream_k"),
            std::string::npos);
  const std::string other =
      testing::mistakes_of("use: h100_sxm\narchitecture: {gemm: {selection: {architecture: Blackwell, rows: []}}}\n");
  EXPECT_NE(other.find("Hopper"), std::string::npos);
}

TEST(GemmSelection, IsPartOfTheKeyOfAResult) {
  EXPECT_FALSE(device_key(testing::device_from(table)) == device_key(testing::h100()));
}

}  // namespace
}  // namespace warploom
