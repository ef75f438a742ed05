// SPDX-License-Identifier: Apache-2.0
// Memory-bound operators against measured ones, where WARPLOOM_DATA has them.
#include <gtest/gtest.h>

#include <string>

#include "tests/validation/measured_tables.hpp"
#include "workloads/validation/validation.hpp"

namespace warploom {
namespace {

class MeasuredStreams : public validation::MeasuredTables {};

TEST_F(MeasuredStreams, FrameworkOperatorsInFp32AreWithinFivePercentAndBeatTheRoofline) {
  for (const char* operation : {"elem", "ln", "softmax"}) {
    const TableValidation table = validate("memory_bound_fp32.csv", {std::string("op=") + operation});
    EXPECT_TRUE(table.skipped.empty());
    EXPECT_LT(*table.overall.mape, std::string(operation) == "elem" ? 0.02 : 0.09) << operation;
  }
  const TableValidation table = validate("memory_bound_fp32.csv", {});
  EXPECT_LT(*table.overall.mape, 0.05);
  EXPECT_LT(*table.overall.mape, *table.baseline.mape);
}

// Nine rows are differences that came out as zero.
TEST_F(MeasuredStreams, QuantisationIsWithinTenPercentAndBeatsTheRoofline) {
  for (const char* device : {"h100_sxm", "b200_sxm", "l40s"}) {
    for (const char* operation : {"computescale", "scale_matrix"}) {
      const TableValidation table =
          validate("quantize.csv", {std::string("device=") + device, std::string("op=") + operation});
      EXPECT_GT(table.predicted.size(), 150u);
      EXPECT_LT(*table.overall.mape, 0.13) << device << " " << operation;
    }
  }
  const TableValidation table = validate("quantize.csv", {});
  EXPECT_LT(*table.overall.mape, 0.10);
  EXPECT_LT(*table.overall.mape, *table.baseline.mape);
}

TEST_F(MeasuredStreams, OperatorsOfLayersAreAllPredicted) {
  const TableValidation table = validate("llm_layer_ops.csv", {});
  EXPECT_TRUE(table.skipped.empty());
  EXPECT_LT(*table.overall.mape, 0.15);
  EXPECT_LT(*table.overall.mape, *table.baseline.mape);
}

TEST_F(MeasuredStreams, MemoryBoundOperatorsOfLayersAreWithin15Percent) {
  for (const char* operation : {"emb", "mlp_act", "attn_rope", "input_layernorm", "post_attention_layernorm"}) {
    const TableValidation table = validate("llm_layer_ops.csv", {std::string("op=") + operation});
    EXPECT_GT(table.predicted.size(), 70u);
    EXPECT_LT(*table.overall.mape, 0.15) << operation;
  }
}

}  // namespace
}  // namespace warploom
