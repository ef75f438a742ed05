// SPDX-License-Identifier: Apache-2.0
// Whose measured errors a prediction may borrow.
#include "workloads/validation/error_bands.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hw_models/kernels/attention.hpp"
#include "hw_models/kernels/gemm.hpp"
#include "hw_models/kernels/mla.hpp"
#include "workloads/validation/prediction_bands.hpp"

namespace warploom {
namespace {

using namespace literals;
using ::testing::HasSubstr;

ErrorBand record(const std::string& kind, const std::string& device, const std::string& dtype, const std::string& of,
                 double p90 = 1.1) {
  ErrorBand band;
  band.kind = kind;
  band.device = device;
  band.dtype = dtype;
  band.size_class = of;
  band.rows = 10;
  band.ratio_p90 = p90;
  return band;
}

const BandDevice h100{"h100_sxm", "Hopper", 3.35e12};
const BandDevice h200{"h200_sxm", "Hopper", 4.8e12};
const BandDevice a100{"a100_sxm", "Ampere GA100", 2.04e12};
const BandDevice t4{"t4", "Turing", 0.32e12};
const BandDevice b200{"b200_sxm", "Blackwell", 8e12};

ErrorBands bands_of(std::vector<ErrorBand> bands) { return ErrorBands(std::move(bands), {h100, a100, t4}); }

TEST(ErrorBands, ADeviceOfTheSameArchitectureLendsFirstHoweverWideOthersAre) {
  const auto bands =
      bands_of({record("gemm", "a100_sxm", "bf16", "llm", 9), record("gemm", "h100_sxm", "bf16", "llm")});
  const auto band = bands.band("gemm", h200, "bf16", "llm");
  ASSERT_TRUE(band.has_value());
  EXPECT_EQ(band->device, "h100_sxm");
  EXPECT_TRUE(band->is_borrowed);
  EXPECT_FALSE(bands.band("gemm", h100, "bf16", "llm")->is_borrowed);
}

TEST(ErrorBands, ElsewhereTheDeviceOfTheNearestMemoryLends) {
  const auto bands = bands_of({record("gemm_fp32", "t4", "fp32", "linear under 1 ms", 9),
                               record("gemm_fp32", "a100_sxm", "fp32", "linear under 1 ms")});
  EXPECT_EQ(bands.band("gemm_fp32", b200, "fp32", "linear under 1 ms")->device, "a100_sxm");
}

TEST(ErrorBands, AnArchitectureIsMeasuredWhereOneOfItsDevicesHasRecords) {
  const auto bands = bands_of({record("gemm", "h100_sxm", "bf16", "llm")});
  EXPECT_TRUE(bands.has_architecture("Hopper"));
  EXPECT_FALSE(bands.has_architecture("CDNA 3"));
}

TEST(ErrorBands, AnotherClassOrDataTypeSaysNothing) {
  const auto bands = bands_of({record("gemm", "h100_sxm", "bf16", "llm")});
  EXPECT_FALSE(bands.band("gemm", h100, "bf16", "skinny").has_value());
  EXPECT_FALSE(bands.band("gemm", h100, "tf32", "llm").has_value());
}

TEST(ErrorBands, CollectivesBorrowFromTheNearestNumberOfRanks) {
  const auto bands = bands_of({record("collectives", "h100_sxm", "fp16", "all_to_all one 8 under 1 MiB", 9),
                               record("collectives", "h100_sxm", "", "all_reduce several 16 64 MiB and more"),
                               record("collectives", "h100_sxm", "", "all_reduce several 128 64 MiB and more"),
                               record("collectives", "a100_sxm", "", "all_reduce several 64 64 MiB and more")});
  const auto several = [&](std::int64_t ranks, Bytes bytes) {
    return collective_band({CollectiveKind::all_reduce, bytes, DataType::bf16, 0}, "h100_sxm", ranks, false, bands);
  };
  EXPECT_EQ(several(32, 1_GiB)->size_class, "all_reduce several 16 64 MiB and more");
  EXPECT_EQ(several(64, 1_GiB)->size_class, "all_reduce several 128 64 MiB and more");
  EXPECT_TRUE(several(64, 1_GiB)->is_borrowed);
  EXPECT_FALSE(several(16, 1_GiB)->is_borrowed);
  EXPECT_FALSE(several(16, 1_KiB).has_value());  // another size class
  EXPECT_FALSE(
      collective_band({CollectiveKind::broadcast, 1_GiB, DataType::bf16, 0}, "h100_sxm", 16, false, bands).has_value());
}

TEST(PredictionBands, PrefillOfLatentAttentionIsNoDecoding) {
  const auto bands = bands_of({record("mla", "h100_sxm", "bf16", "decode 100 us and more"),
                               record("mla", "h100_sxm", "bf16", "prefill 100 us and more")});
  MlaShape shape;
  shape.batch = 1;
  shape.heads = 128;
  shape.kv_length = 4096;
  shape.serving = true;
  for (const std::int64_t queries : {1, 4096}) {
    shape.query_length = queries;
    const auto band = kernel_band(mla(shape), h100, "bf16", 1_ms, bands);
    ASSERT_TRUE(band.has_value());
    EXPECT_EQ(band->size_class, queries == 1 ? "decode 100 us and more" : "prefill 100 us and more");
    EXPECT_FALSE(band->is_borrowed);
  }
}

TEST(PredictionBands, AQuantisedProductAloneBorrowsFromProductsWithTheirQuantisation) {
  const auto bands = bands_of({record("gemm_quantized", "h100_sxm", "fp8", "llm")});
  GemmShape shape;
  shape.m = shape.n = shape.k = 8192;
  shape.input = DataType::fp8;
  const auto band = kernel_band(gemm(shape), h100, "fp8", 1_ms, bands);
  ASSERT_TRUE(band.has_value());
  EXPECT_TRUE(band->is_borrowed);
  EXPECT_THAT(description(*band), HasSubstr("borrowed from gemm_quantized fp8 llm with the quantisation"));
}

TEST(PredictionBands, TypesOf16BitsLendToEachOther) {
  const auto bands = bands_of({record("gemm", "h100_sxm", "bf16", "llm")});
  GemmShape shape;
  shape.m = shape.n = shape.k = 8192;
  shape.input = shape.output = DataType::fp16;
  EXPECT_TRUE(kernel_band(gemm(shape), h100, "fp16", 1_ms, bands)->is_borrowed);
}

}  // namespace
}  // namespace warploom
