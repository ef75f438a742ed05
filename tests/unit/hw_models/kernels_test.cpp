// SPDX-License-Identifier: Apache-2.0
// Kernel families: FLOPs and bytes are the formulas of their papers.
#include "hw_models/kernels.hpp"

#include <gmock/gmock.h>

#include <set>

#include "hw_models/kernels/activation.hpp"
#include "hw_models/kernels/attention.hpp"
#include "hw_models/kernels/cast.hpp"
#include "hw_models/kernels/cross_entropy.hpp"
#include "hw_models/kernels/dropout.hpp"
#include "hw_models/kernels/element_wise.hpp"
#include "hw_models/kernels/embedding.hpp"
#include "hw_models/kernels/gemm.hpp"
#include "hw_models/kernels/norm.hpp"
#include "hw_models/kernels/optimizer_update.hpp"
#include "hw_models/kernels/rotary.hpp"
#include "hw_models/kernels/softmax.hpp"
#include "sim/core/errors.hpp"
#include "tests/unit/hw_models/devices.hpp"

namespace warploom {
namespace {

TEST(KernelFamilies, AreListedOnceWithAMeaning) {
  std::set<std::string_view> names;
  for (const KernelFamily* family : kernel_families()) {
    EXPECT_TRUE(names.insert(family->name()).second) << family->name();
    EXPECT_FALSE(family->meaning().empty()) << family->name();
    EXPECT_EQ(&kernel_family(family->name()), family);
  }
  EXPECT_GE(names.size(), 13u);
  EXPECT_THROW(kernel_family("gemmm"), InternalError);
}

TEST(Gemm, ComputesTwoFlopsAProductAndMovesThreeMatrices) {
  const Kernel kernel = gemm({.m = 3, .n = 5, .k = 7, .batch = 2});
  EXPECT_EQ(flops(kernel), Flops(2L * 2 * 3 * 5 * 7));
  EXPECT_EQ(bytes(kernel), Bytes(2L * 2 * (3 * 7 + 7 * 5 + 3 * 5)));
}

TEST(Gemm, AccumulationReadsTheOutputToo) {
  const GemmShape shape{.m = 64, .n = 32, .k = 16, .output = DataType::fp32};
  GemmShape accumulating = shape;
  accumulating.accumulate = true;
  EXPECT_EQ(bytes(gemm(accumulating)) - bytes(gemm(shape)), Bytes(64L * 32 * 4));
}

// Megatron-LM (arXiv:2104.04473): a GPT layer forward is 24 b s h^2 + 4 b s^2 h FLOPs.
TEST(GptLayer, Forward24BSHSquaredPlus4BSSquaredH) {
  const std::int64_t b = 2, s = 2048, h = 4096, a = 32;
  const Flops products = flops(gemm({.m = b * s, .n = 3 * h, .k = h})) + flops(gemm({.m = b * s, .n = h, .k = h})) +
                         flops(gemm({.m = b * s, .n = 4 * h, .k = h})) + flops(gemm({.m = b * s, .n = h, .k = 4 * h}));
  const Flops attended = flops(attention({.batch = b,
                                          .query_heads = a,
                                          .kv_heads = a,
                                          .query_length = s,
                                          .kv_length = s,
                                          .head_dim = h / a,
                                          .causal = false}));
  EXPECT_DOUBLE_EQ(products.value(), 24.0 * b * s * h * h);
  EXPECT_DOUBLE_EQ(attended.value(), 4.0 * b * s * s * h);
}

TEST(FlashAttention, CausalCountsThePairsThatAreSeen) {
  const auto shape = [](std::int64_t queries, std::int64_t keys, bool causal) {
    return AttentionShape{
        .query_heads = 1, .kv_heads = 1, .query_length = queries, .kv_length = keys, .head_dim = 64, .causal = causal};
  };
  EXPECT_DOUBLE_EQ(flops(attention(shape(100, 100, true))).value(), 4.0 * 64 * (100.0 * 101 / 2));
  // The last 10 queries of 100 keys see 91, 92, ..., 100.
  EXPECT_DOUBLE_EQ(flops(attention(shape(10, 100, true))).value(), 4.0 * 64 * (91 + 100) * 10 / 2);
  // One query sees all: decoding.
  EXPECT_EQ(flops(attention(shape(1, 100, true))), flops(attention(shape(1, 100, false))));
}

TEST(FlashAttention, BackwardIsFiveProductsForTwo) {
  AttentionShape shape{.query_heads = 8, .kv_heads = 2, .query_length = 512, .kv_length = 512};
  const Flops forward = flops(attention(shape));
  shape.backward = true;
  EXPECT_DOUBLE_EQ(flops(attention(shape)).value(), 2.5 * forward.value());
}

TEST(FlashAttention, GroupedQueriesReadFewerKeysAndValues) {
  const AttentionShape grouped{.query_heads = 64, .kv_heads = 8, .query_length = 1024, .kv_length = 1024};
  AttentionShape full = grouped;
  full.kv_heads = 64;
  EXPECT_EQ(bytes(attention(grouped)), Bytes(2L * 1024 * 128 * (2 * 64 + 2 * 8)));
  EXPECT_EQ(flops(attention(grouped)), flops(attention(full)));
}

TEST(MemoryBoundKernels, MoveTheBytesOfTheirTensors) {
  EXPECT_EQ(bytes(norm({.rows = 10, .width = 100})), Bytes(2L * 2 * 1000));
  EXPECT_EQ(bytes(norm({.rows = 10, .width = 100, .backward = true})), Bytes(3L * 2 * 1000));
  EXPECT_EQ(bytes(activation({.rows = 10, .width = 100})), Bytes(3L * 2 * 1000));
  EXPECT_EQ(bytes(activation({.rows = 10, .width = 100, .backward = true})), Bytes(5L * 2 * 1000));
  EXPECT_EQ(bytes(activation({.rows = 10, .width = 100, .kind = ActivationKind::gelu})), Bytes(2L * 2 * 1000));
  EXPECT_EQ(bytes(activation({.rows = 10, .width = 100, .kind = ActivationKind::gelu, .backward = true})),
            Bytes(3L * 2 * 1000));
  EXPECT_EQ(bytes(rotary({.tokens = 10, .heads = 4, .head_dim = 64})), Bytes(2L * 2 * 10 * 4 * 64));
  EXPECT_EQ(bytes(embedding({.tokens = 10, .vocabulary = 50, .width = 100})), Bytes(2L * 2 * 1000 + 80));
  EXPECT_EQ(bytes(embedding({.tokens = 10, .vocabulary = 50, .width = 100, .backward = true})),
            Bytes(2L * 1000 + 80 + 2L * 4 * 1000));
  EXPECT_EQ(bytes(cast({.elements = 1000})), Bytes(6L * 1000));
  EXPECT_EQ(bytes(element_wise({.elements = 1000, .bytes_read = 6, .bytes_written = 4})), Bytes(10L * 1000));
  EXPECT_EQ(bytes(cross_entropy({.tokens = 10, .vocabulary = 100})), Bytes(2L * 1000 + 40));
  EXPECT_EQ(bytes(cross_entropy({.tokens = 10, .vocabulary = 100, .part = CrossEntropyPart::backward})),
            Bytes(2L * 2 * 1000));
}

// Mixed-precision Adam: fp32 gradient, master and two moments in; master, moments and the bf16 parameter out.
TEST(OptimizerUpdate, MovesThirtyBytesAParameter) {
  EXPECT_EQ(bytes(optimizer_update({.parameters = 1000})), Bytes(1000L * (16 + 14)));
  EXPECT_EQ(bytes(optimizer_update({.parameters = 1000, .gradient = DataType::bf16})), Bytes(1000L * (14 + 14)));
  EXPECT_EQ(bytes(optimizer_update({.parameters = 1000, .parameter = DataType::fp32, .has_master = false})),
            Bytes(1000L * (16 + 12)));
}

// Scenario A2: one FLOP for 2 bytes read and 2 written (the bias itself stays in registers).
TEST(ElementWise, BiasAddHasAQuarterFlopAByte) {
  const Kernel bias = element_wise({.elements = 1 << 20, .bytes_read = 2, .bytes_written = 2, .flops = 1});
  EXPECT_DOUBLE_EQ(flops(bias).value() / static_cast<double>(bytes(bias).count()), 0.25);
  EXPECT_NEAR((0.25 * 3.35_TBps).value(), 0.84e12, 0.003e12);
}

// Every family with every type, in its smallest size: either it refuses, or it moves something in some time.
TEST(KernelFamilies, TakeEveryTypeOrRefuseIt) {
  const DeviceSpec device = testing::device_from("use: b200_sxm\n");
  for (const KernelFamily* family : kernel_families()) {
    for (const auto& [type, type_name] : data_type_names) {
      Kernel kernel;
      kernel.family = family->name();
      for (std::size_t i = 0; i < family->parameters().size(); ++i) {
        const KernelParameter& parameter = family->parameters()[i];
        kernel.size[i] = parameter.usual.value_or(16 * std::max<std::int64_t>(parameter.least, 1));
      }
      kernel.input = kernel.weight = type;
      kernel.output = family->usual_output(type);
      std::vector<std::uint32_t> choices = {0};
      for (const KernelFlag& flag : family->flags()) choices.push_back(flag.bit);
      for (const std::uint32_t flags : choices) {
        kernel.flags = flags;
        try {
          family->check(kernel);
          const KernelCost cost = family->cost(kernel, device);
          EXPECT_GT(bytes(kernel), Bytes{0}) << family->name() << ' ' << type_name << ' ' << flags;
          EXPECT_GT(cost.duration, Time::zero()) << family->name() << ' ' << type_name << ' ' << flags;
        } catch (const UserError&) {
        }
      }
    }
  }
}

TEST(KernelFamilies, OfWholeBytesRefuseHalfOnes) {
  const auto refuses = [](const Kernel& kernel) {
    EXPECT_THROW(kernel_family(kernel.family).check(kernel), UserError) << kernel.family;
  };
  refuses(softmax({.rows = 8, .width = 8192, .type = DataType::fp4, .framework = true}));
  refuses(norm({.rows = 8, .width = 8192, .type = DataType::fp4}));
  refuses(dropout({.elements = 8192, .type = DataType::fp4}));
  refuses(activation({.rows = 8, .width = 8192, .type = DataType::fp4}));
  EXPECT_EQ(bytes(cast({.elements = 1000, .from = DataType::bf16, .to = DataType::fp4})), Bytes(2500));
}

TEST(KernelFamilies, RefuseSizesThatMakeNoSense) {
  EXPECT_THROW(flops(gemm({.m = 0, .n = 1, .k = 1})), UserError);
  EXPECT_THROW(flops(gemm({.m = 1, .n = -1, .k = 1})), UserError);
  EXPECT_THROW(bytes(norm({.rows = 0, .width = 1})), UserError);
  EXPECT_THROW(flops(attention({.query_heads = 3, .kv_heads = 2, .query_length = 1, .kv_length = 1})), UserError);
  EXPECT_THROW(flops(attention({.query_heads = 1, .kv_heads = 1, .query_length = 2, .kv_length = 1})), UserError);
  EXPECT_THROW(bytes(gemm({.m = std::int64_t{1} << 40, .n = std::int64_t{1} << 40, .k = 1})), OverflowError);
}

}  // namespace
}  // namespace warploom
