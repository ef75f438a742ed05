// SPDX-License-Identifier: Apache-2.0
// Attention, latent attention and experts against measured ones, where WARPLOOM_DATA has them.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tests/validation/measured_tables.hpp"
#include "workloads/validation/validation.hpp"

namespace warploom {
namespace {

class MeasuredAttention : public validation::MeasuredTables {};

struct Gate {
  const char* device;
  const char* phase;
  double mape;
};

TEST_F(MeasuredAttention, PrefillAndDecodingAreWithinTheirGatesAndBeatTheRoofline) {
  for (const Gate& gate :
       {Gate{"a100_sxm", "prefill", 0.15}, Gate{"h100_sxm", "prefill", 0.15}, Gate{"b200_sxm", "prefill", 0.15},
        Gate{"l40s", "prefill", 0.15}, Gate{"a100_sxm", "decode", 0.17}, Gate{"h100_sxm", "decode", 0.12},
        Gate{"b200_sxm", "decode", 0.12}, Gate{"l40s", "decode", 0.28}}) {
    const TableValidation table =
        validate("attention.csv", {std::string("device=") + gate.device, std::string("phase=") + gate.phase});
    EXPECT_GT(table.predicted.size(), 1000u) << gate.device;
    EXPECT_LT(*table.overall.mape, gate.mape) << gate.device << " " << gate.phase;
    EXPECT_LT(*table.overall.mape, *table.baseline.mape) << gate.device << " " << gate.phase;
    RecordProperty(std::string(gate.device) + " " + gate.phase, std::to_string(100 * *table.overall.mape));
  }
}

TEST_F(MeasuredAttention, OnlyFlashAttention4IsSkipped) {
  const TableValidation table = validate("attention.csv", {});
  EXPECT_EQ(table.reasons.size(), 1u);
  EXPECT_LT(table.skipped.size(), table.predicted.size() / 50);
}

// Nothing is fitted for latent attention: its parts are those of other families.
TEST_F(MeasuredAttention, LatentAttentionFollowsFromItsParts) {
  const TableValidation table = validate("mla.csv", {});
  EXPECT_TRUE(table.skipped.empty());
  EXPECT_LT(*table.overall.mape, 0.20);
}

TEST_F(MeasuredAttention, ExpertsAreWithinHalf) {
  const TableValidation table = validate("moe.csv", {});
  EXPECT_TRUE(table.skipped.empty());
  EXPECT_LT(*table.overall.mape, 0.45);
}

}  // namespace
}  // namespace warploom
