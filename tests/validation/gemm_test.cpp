// SPDX-License-Identifier: Apache-2.0
// Matrix products and quantisation against measured ones, where WARPLOOM_DATA has them, and against published figures.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "hw_models/analytic_timer.hpp"
#include "hw_models/kernels/gemm.hpp"
#include "sim/core/config.hpp"
#include "sim/core/library.hpp"
#include "tests/validation/measured_tables.hpp"
#include "workloads/validation/validation.hpp"

namespace warploom {
namespace {

class MeasuredGemms : public validation::MeasuredTables {};

struct Gate {
  const char* device;
  const char* dtype;
  double mape;
};

void expect_no_class_far_behind_the_roofline(const TableValidation& table) {
  for (const RowGroup& group : table.groups) {
    if (group.errors.rows < 50) continue;
    EXPECT_LT(*group.errors.mape, *group.baseline.mape + 0.01)
        << group.device << " " << group.dtype << " " << group.size_class << ", " << group.errors.rows << " rows";
  }
}

TEST_F(MeasuredGemms, BrainFloatIsWithinItsGatesAndNeverBehindTheRoofline) {
  for (const Gate& gate : {Gate{"h100_sxm", "bf16", 0.08}, Gate{"b200_sxm", "bf16", 0.08},
                           Gate{"a100_sxm", "bf16", 0.10}, Gate{"l40s", "bf16", 0.14}}) {
    const TableValidation table = validate("gemm.csv", {std::string("device=") + gate.device});
    EXPECT_GT(table.predicted.size(), 1000u) << gate.device;
    EXPECT_LT(*table.overall.mape, gate.mape) << gate.device;
    expect_no_class_far_behind_the_roofline(table);
    RecordProperty(gate.device, std::to_string(100 * *table.overall.mape));
  }
}

TEST_F(MeasuredGemms, SinglePrecisionWithKnownKernelIsWithinFivePercent) {
  for (const char* device : {"a100_pcie_40gb", "a100_pcie_80gb", "h100_sxm", "v100_pcie_32gb"}) {
    const TableValidation table = validate("gemm_fp32_known_kernel.csv", {std::string("device=") + device});
    EXPECT_TRUE(table.skipped.empty()) << device;
    EXPECT_LT(*table.overall.mape, 0.05) << device;
  }
}

// 70 W cards: their clock moves with temperature and with what ran before.
TEST_F(MeasuredGemms, SinglePrecisionOnSmallCardsFollowsFromTheirPower) {
  EXPECT_LT(*validate("gemm_fp32_known_kernel.csv", {"device=l4"}).overall.mape, 0.16);
  EXPECT_LT(*validate("gemm_fp32_known_kernel.csv", {"device=t4"}).overall.mape, 0.25);
}

TEST_F(MeasuredGemms, QuantisedIsWithinItsGates) {
  for (const Gate& gate : {Gate{"h100_sxm", "", 0.15}, Gate{"b200_sxm", "", 0.15}, Gate{"l40s", "", 0.21}}) {
    const TableValidation table = validate("gemm_quantized.csv", {std::string("device=") + gate.device});
    EXPECT_TRUE(table.skipped.empty()) << gate.device;
    EXPECT_LT(*table.overall.mape, gate.mape) << gate.device;
    EXPECT_LT(*table.overall.mape, *table.baseline.mape) << gate.device;
  }
}

TEST_F(MeasuredGemms, QuantisationIsWithinAQuarterAndBeatsTheRoofline) {
  const TableValidation table = validate("quantize.csv", {});
  EXPECT_LT(*table.overall.mape, 0.25);
  EXPECT_LT(*table.overall.mape, *table.baseline.mape);
}

// A second set, of other shapes, FP16, and a device that nothing is fitted on (A40).
TEST_F(MeasuredGemms, LinearLayersOfServedModelsFollow) {
  EXPECT_LT(*validate("llm_layer_ops.csv", {"device=a40"}).overall.mape, 0.12);
  EXPECT_LT(*validate("llm_layer_ops.csv", {"device=a100_sxm"}).overall.mape, 0.14);
  EXPECT_LT(*validate("llm_layer_ops.csv", {"device=h100_sxm"}).overall.mape, 0.20);
}

// stas00/ml-engineering (commit 744d01e): the best BF16 product that a search over shapes finds.
TEST(PublishedGemms, MaximumAchievableMatrixProductIsNotExceeded) {
  struct Best {
    const char* device;
    double tera_flops;
  };
  for (const Best& best : {Best{"h100_sxm", 794}, Best{"a100_sxm", 271}, Best{"b200_sxm", 1745}}) {
    const DeviceSpec device = read<DeviceSpec>(load_config(best.device, {}, Library({WARPLOOM_SOURCE_DIR "/configs"})));
    const auto tera_flops = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
      const KernelCost cost =
          AnalyticTimer(device, LaunchMode::graph).cost(gemm({.m = m, .n = n, .k = k, .is_warm = true}));
      return cost.flops.value() / cost.duration.seconds() / 1e12;
    };
    for (const std::int64_t m : {2048, 4096, 8192, 16384}) {
      for (const std::int64_t k : {2048, 8192, 16384})
        EXPECT_LT(tera_flops(m, 8192, k), 1.04 * best.tera_flops) << best.device;
    }
    EXPECT_GT(tera_flops(8192, 8192, 8192), 0.85 * best.tera_flops) << best.device;
  }
}

}  // namespace
}  // namespace warploom
