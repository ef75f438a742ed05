// SPDX-License-Identifier: Apache-2.0
// Published closed forms at their published values (A5 to A9 of the scenarios).
#include "workloads/memory_formulas.hpp"

#include <gtest/gtest.h>

namespace warploom {
namespace {

using namespace warploom::literals;

// A6.
TEST(MemoryFormulas, MixedPrecisionAdamKeepsSixteenBytesAParameter) {
  EXPECT_EQ(StateBytes{}.total(), 16);
  EXPECT_EQ(zero_bytes_a_parameter(0, 64), 16);
}

// A7 (arXiv:1910.02054, figure 1): 7.5B parameters over 64 ranks: 120 GB, 31.4, 16.6, 1.9 GB.
TEST(MemoryFormulas, ZeroCutsThePublishedSevenPointFiveBillionParameters) {
  EXPECT_NEAR(7.5 * zero_bytes_a_parameter(0, 64), 120, 0.05);
  EXPECT_NEAR(7.5 * zero_bytes_a_parameter(1, 64), 31.4, 0.05);
  EXPECT_NEAR(7.5 * zero_bytes_a_parameter(2, 64), 16.6, 0.05);
  EXPECT_NEAR(7.5 * zero_bytes_a_parameter(3, 64), 1.9, 0.05);
  EXPECT_EQ(zero_relative_communication(2), 1);
  EXPECT_EQ(zero_relative_communication(3), 1.5);
}

// A8 (arXiv:2205.05198, Table 2).
TEST(MemoryFormulas, ActivationsOfALayerAreThePublishedSums) {
  LayerShape shape{.sequence = 2048, .micro_batch = 4, .hidden = 6144, .heads = 64};
  const double sbh = 2048.0 * 4 * 6144;
  const double scores = 5.0 * 64 * 2048 / 6144;
  EXPECT_DOUBLE_EQ(layer_activation_bytes(shape, ActivationMode::none), sbh * (34 + scores));
  shape.tensor = 8;
  EXPECT_DOUBLE_EQ(layer_activation_bytes(shape, ActivationMode::none), sbh * (10 + 24.0 / 8 + scores / 8));
  EXPECT_DOUBLE_EQ(layer_activation_bytes(shape, ActivationMode::selective), sbh * (10 + 24.0 / 8));
  EXPECT_DOUBLE_EQ(layer_activation_bytes(shape, ActivationMode::full), sbh * 2);
  shape.sequence_parallel = true;
  EXPECT_DOUBLE_EQ(layer_activation_bytes(shape, ActivationMode::none), sbh * (34 + scores) / 8);
  EXPECT_DOUBLE_EQ(layer_activation_bytes(shape, ActivationMode::selective), sbh * 34 / 8);
  EXPECT_DOUBLE_EQ(layer_activation_bytes(shape, ActivationMode::full), sbh * 2 / 8);
}

// The paper's example: GPT-3 saves 70% of its activations, MT-NLG 65%, by recomputing the attention core alone.
TEST(MemoryFormulas, SelectiveRecomputationSavesThePublishedShare) {
  const auto saved = [](const LayerShape& shape) {
    return 1 - layer_activation_bytes(shape, ActivationMode::selective) /
                   layer_activation_bytes(shape, ActivationMode::none);
  };
  EXPECT_NEAR(saved({.sequence = 2048, .hidden = 12288, .heads = 96, .sequence_parallel = true}), 0.70, 0.005);
  EXPECT_NEAR(saved({.sequence = 2048, .hidden = 20480, .heads = 128, .sequence_parallel = true}), 0.65, 0.005);
}

// A5: 70B parameters, 15T tokens, 1,024 x 990 TFLOP/s.
TEST(MemoryFormulas, SixNdTakesThePublishedDays) {
  const auto days = [](double mfu) { return training_seconds(70e9, 15e12, 1024, 990_TFLOPS, mfu) / 86400; };
  EXPECT_NEAR(days(0.4), 179.8, 0.1);
  EXPECT_NEAR(days(0.5), 143.9, 0.1);
}

// A9, and Pangu Ultra's published 30.45% and 6.8% (p = 8, m = 16, v = 6), which are shares of the whole iteration.
TEST(MemoryFormulas, BubblesAreThePublishedShares) {
  EXPECT_DOUBLE_EQ(bubble_over_ideal(8, 16), 7.0 / 16);
  const auto rate = [](double over_ideal) { return over_ideal / (1 + over_ideal); };
  EXPECT_NEAR(rate(bubble_over_ideal(8, 16)), 0.3045, 0.0005);
  EXPECT_NEAR(rate(bubble_over_ideal(8, 16, 6)), 0.068, 0.0005);
}

}  // namespace
}  // namespace warploom
