// SPDX-License-Identifier: Apache-2.0
// GEMM: tiles by rule or by name, FP32 kernels in waves, quantisation.
#include "hw_models/kernels/gemm.hpp"

#include <gtest/gtest.h>

#include <utility>

#include "hw_models/kernels.hpp"
#include "hw_models/kernels/gemm_blocking.hpp"
#include "hw_models/kernels/quantize.hpp"
#include "hw_models/precision.hpp"
#include "sim/core/errors.hpp"
#include "tests/unit/hw_models/devices.hpp"

namespace warploom {
namespace {

Time time_of(const Kernel& kernel, const DeviceSpec& device) {
  return kernel_family(kernel.family).cost(kernel, device).duration;
}

TEST(GemmBlocking, TakesTheTileThatTheShapeNames) {
  const GemmBlocking blocking =
      choose_gemm_blocking({.m = 1000, .n = 500, .k = 640, .tile_m = 128, .tile_n = 64}, testing::h100());
  EXPECT_EQ(blocking.blocks, 8 * 8);
  EXPECT_EQ(blocking.steps, 640 / 64);
}

TEST(GemmBlocking, IsTheSameOnADeviceWithAFasterCache) {
  const GemmShape shape{.m = 3000, .n = 5000, .k = 2000};
  const GemmBlocking usual = choose_gemm_blocking(shape, testing::h100());
  const GemmBlocking faster = choose_gemm_blocking(shape, testing::h100({"l2.bytes_per_cycle_per_sm=70"}));
  EXPECT_EQ(usual.tile.m, faster.tile.m);
  EXPECT_EQ(usual.tile.n, faster.tile.n);
}

TEST(Gemm, WantsBothEdgesOfATile) {
  const Kernel kernel = gemm({.m = 64, .n = 64, .k = 64, .tile_m = 64});
  EXPECT_THROW(kernel_family("gemm").check(kernel), UserError);
}

TEST(SimtGemm, OneMoreBlockThanFitsCostsMoreThanOneLess) {
  const DeviceSpec device = testing::a100();
  const auto blocks = [&](std::int64_t count) {
    return time_of(gemm({.m = 128 * count,
                         .n = 128,
                         .k = 4096,
                         .input = DataType::fp32,
                         .output = DataType::fp32,
                         .tile_m = 128,
                         .tile_n = 128,
                         .threads = 256}),
                   device);
  };
  EXPECT_EQ(blocks(109).ps() > blocks(108).ps(), true);
  EXPECT_NEAR(blocks(216) / blocks(109), 1, 0.02);  // the second block of an SM, whether one or all have it
  EXPECT_NEAR(blocks(216) / blocks(108), 2, 0.25);
}

TEST(SimtGemm, StaysBelowThePeakOfTheVectorLanes) {
  const DeviceSpec device = testing::a100();
  const Kernel kernel = gemm({.m = 8192, .n = 8192, .k = 8192, .input = DataType::fp32, .output = DataType::fp32});
  const double share = flops(kernel) / time_of(kernel, device) / device.vector_peak_at(device.clock.max);
  EXPECT_LT(share, 1);
  EXPECT_GT(share, 0.8);
}

TEST(Quantize, ReadsTheValuesOnceAndWritesThemNarrower) {
  EXPECT_EQ(bytes(quantize({.rows = 10, .width = 256, .block = 128})), Bytes(10L * 256 * 3 + 10 * 2 * 4));
  EXPECT_EQ(bytes(quantize({.rows = 10, .width = 256, .block = 16, .to = DataType::fp4})),
            Bytes(10L * 256 * 2 + 10L * 128 + 10 * 16));
  EXPECT_EQ(bytes(quantize({.rows = 10, .width = 256, .part = QuantizePart::scale})), Bytes(10L * 256 * 2 + 4));
  EXPECT_EQ(bytes(quantize({.rows = 10, .width = 256})), Bytes(10L * 256 * 3 + 10 * 4));
  EXPECT_EQ(bytes(quantize({.rows = 10, .width = 256, .part = QuantizePart::cast})), Bytes(10L * 256 * 3));
}

TEST(Quantize, RefusesWhatIsNoQuantisation) {
  const KernelFamily& family = kernel_family("quantize");
  EXPECT_NO_THROW(family.check(quantize({.rows = 10, .width = 256})));
  EXPECT_THROW(family.check(quantize({.rows = 10, .width = 256, .to = DataType::bf16})), UserError);
  EXPECT_THROW(family.check(quantize({.rows = 10, .width = 256, .from = DataType::fp8})), UserError);
  EXPECT_THROW(family.check(quantize({.rows = 10, .width = 256, .after_search = true})), UserError);
  Kernel both = quantize({.rows = 10, .width = 256, .part = QuantizePart::scale});
  both.flags |= quantize({.rows = 10, .width = 256, .part = QuantizePart::cast}).flags;
  EXPECT_THROW(family.check(both), UserError);
}

// No rows of these: what is not known is not fast.
TEST(Quantize, IsNotFasterWhereATypeIsMissing) {
  for (const std::int64_t block : {0, 128}) {
    const Kernel kernel = quantize({.rows = 4096, .width = 8192, .block = block});
    EXPECT_GE(time_of(kernel, testing::a100()), time_of(kernel, testing::h100())) << block;
    const Kernel narrow = quantize({.rows = 4096, .width = 8192, .block = block, .to = DataType::fp4});
    EXPECT_GE(time_of(narrow, testing::h100()), time_of(narrow, testing::device_from("use: b200_sxm\n")));
  }
}

TEST(Gemm, MovesAWeightOfFewerBitsAsWhatItIs) {
  const GemmShape wide{.m = 16, .n = 8192, .k = 8192};
  GemmShape narrow = wide;
  narrow.weight = DataType::fp4;
  EXPECT_EQ(bytes(gemm(wide)) - bytes(gemm(narrow)), Bytes(8192L * 8192 * 3 / 2));
  const DeviceSpec device = testing::h100();
  const auto cost = [&](const GemmShape& shape) { return kernel_family("gemm").cost(gemm(shape), device); };
  EXPECT_EQ(cost(narrow).hbm_bytes, bytes(gemm(narrow)));
  EXPECT_LT(cost(narrow).l2_bytes, cost(wide).l2_bytes);
  EXPECT_LT(cost(narrow).duration, cost(wide).duration * 0.5);
  narrow.weight = DataType::fp8;
  EXPECT_EQ(cost(narrow).hbm_bytes, bytes(gemm(narrow)));
}

TEST(Gemm, MultipliesInTheWiderOfItsTypes) {
  const DeviceSpec device = testing::h100();
  GemmShape shape{.m = 8192, .n = 8192, .k = 8192};
  const double wide = time_of(gemm(shape), device).seconds();
  shape.weight = DataType::fp8;
  EXPECT_NEAR(time_of(gemm(shape), device).seconds() / wide, 1, 0.05);
  std::swap(shape.input, *shape.weight);
  EXPECT_NEAR(time_of(gemm(shape), device).seconds() / wide, 1, 0.05);
  shape.input = DataType::bf16;
  EXPECT_EQ(gemm(shape), gemm({.m = 8192, .n = 8192, .k = 8192}));
}

TEST(Precision, IsFoundByTheNamesOfTables) {
  EXPECT_EQ(find_precision("fp8_block")->scale_block, 128);
  EXPECT_EQ(find_precision("nvfp4")->products(), DataType::fp4);
  EXPECT_EQ(find_precision("w4a16_mxfp4")->products(), DataType::bf16);
  EXPECT_FALSE(find_precision("fp9"));
}

TEST(Devices, AllOfTheLibraryFollowTheirDataSheets) {
  for (const char* name : {"a100_sxm",
                           "a100_sxm_40gb",
                           "a100_pcie_80gb",
                           "a100_pcie_40gb",
                           "h100_sxm",
                           "h100_pcie",
                           "h800_sxm",
                           "h20",
                           "h200_sxm",
                           "b200_sxm",
                           "gb200",
                           "b300_sxm",
                           "gb300",
                           "l40s",
                           "l4",
                           "rtx_pro_6000_server",
                           "v100_sxm_32gb",
                           "v100_pcie_32gb",
                           "a40",
                           "t4",
                           "devices/rubin"}) {
    const DeviceSpec device = testing::device_from(std::string("use: ") + name + "\n");
    EXPECT_FALSE(device.data_sheet_peaks.empty() && std::string_view(name) != "h800_sxm") << name;
    EXPECT_GT(time_of(gemm({.m = 512, .n = 512, .k = 512, .input = DataType::fp16}), device), Time::zero()) << name;
  }
}

TEST(Gemm, RefusesBlocksThatNoKernelHas) {
  for (const GemmShape& shape : {
           GemmShape{.m = 64, .n = 64, .k = 64, .tile_m = 1 << 20, .tile_n = 1L << 31},
           GemmShape{.m = 64, .n = 64, .k = 64, .tile_m = 64, .tile_n = 64, .split_k = 65},
           GemmShape{.m = 64, .n = 64, .k = 64, .threads = 7},
           GemmShape{.m = 64, .n = 64, .k = 64, .threads = 2048},
           GemmShape{.m = 64, .n = 64, .k = 64, .tile_m = 64},
       }) {
    EXPECT_THROW(gemm_family().check(gemm(shape)), UserError);
  }
}

}  // namespace
}  // namespace warploom
