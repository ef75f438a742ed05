// SPDX-License-Identifier: Apache-2.0
// Attention and latent attention: formulas of what they compute and move, and what their time follows.
#include "hw_models/kernels/attention.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "hw_models/kernels.hpp"
#include "hw_models/kernels/attention_sweep.hpp"
#include "hw_models/kernels/dropout.hpp"
#include "hw_models/kernels/mla.hpp"
#include "hw_models/kernels/softmax.hpp"
#include "hw_models/kernels/unscale.hpp"
#include "tests/unit/hw_models/devices.hpp"

namespace warploom {
namespace {

using testing::a100;
using testing::h100;

double microseconds(const Kernel& kernel, const DeviceSpec& device) {
  return kernel_family(kernel.family).cost(kernel, device).duration.microseconds();
}

AttentionShape decoding(std::int64_t batch, std::int64_t keys) {
  return {.batch = batch, .query_heads = 32, .kv_heads = 8, .query_length = 1, .kv_length = keys};
}

TEST(Attention, AWindowComputesOnlyThePairsInSight) {
  AttentionShape shape{.query_heads = 1, .kv_heads = 1, .query_length = 100, .kv_length = 100, .head_dim = 64};
  shape.window = 10;
  // The first nine queries see 1 to 9 keys, the others ten.
  EXPECT_DOUBLE_EQ(flops(attention(shape)).value(), 4.0 * 64 * (9 * 10 / 2 + 91 * 10));
  shape.window = 1000;
  EXPECT_DOUBLE_EQ(flops(attention(shape)).value(), 4.0 * 64 * (100 * 101 / 2));
}

TEST(Attention, DecodingReadsTheKeysInSightOnce) {
  AttentionShape shape = decoding(2, 1000);
  EXPECT_EQ(bytes(attention(shape)), Bytes(2 * (2L * 8 * 1000 * 128 * 2 + 2L * 32 * 128 * 2)));
  shape.window = 100;
  EXPECT_EQ(bytes(attention(shape)), Bytes(2 * (2L * 8 * 100 * 128 * 2 + 2L * 32 * 128 * 2)));
  shape.window = 0;
  shape.kv_type = DataType::fp8;
  EXPECT_EQ(bytes(attention(shape)), Bytes(2 * (2L * 8 * 1000 * 128 + 2L * 32 * 128 * 2)));
}

TEST(Attention, DecodingOfLongContextsIsTheMemorys) {
  const Kernel kernel = attention(decoding(64, 32768));
  for (const auto& [slow, fast] : {std::pair{h100(), h100({"memory.bandwidth=3.685 TB/s"})},
                                   std::pair{a100(), a100({"memory.bandwidth=2.2429 TB/s"})}}) {
    const double gain = microseconds(kernel, slow) / microseconds(kernel, fast) - 1;
    EXPECT_GT(gain / 0.1, 0.8) << slow.name;
    EXPECT_LE(gain / 0.1, 1.0) << slow.name;
  }
}

TEST(Attention, MoreBandwidthNeverSlows) {
  for (const std::int64_t keys : {1, 16, 300, 4096, 100000}) {
    for (const std::int64_t batch : {1, 7, 64, 900}) {
      const Kernel kernel = attention(decoding(batch, keys));
      EXPECT_LE(microseconds(kernel, h100({"memory.bandwidth=5 TB/s"})), microseconds(kernel, h100()));
      EXPECT_LE(microseconds(kernel, a100({"memory.bandwidth=3 TB/s"})), microseconds(kernel, a100()));
    }
  }
}

TEST(Attention, MoreKeysNeverTakeLessThanHalfAsManyDo) {
  for (std::int64_t keys = 128; keys <= 65536; keys *= 2) {
    EXPECT_GE(microseconds(attention(decoding(16, 2 * keys)), h100()),
              0.9 * microseconds(attention(decoding(16, keys)), h100()))
        << keys;
  }
}

// FlashAttention-2 cuts keys into parts only where a group's queries are packed: without groups few sequences use few
// SMs.
TEST(Attention, FewSequencesUseTheDeviceOnlyWhenKeysAreSplit) {
  AttentionShape grouped = decoding(1, 65536);
  AttentionShape alone = grouped;
  alone.query_heads = alone.kv_heads;
  EXPECT_GT(microseconds(attention(alone), a100()), 3 * microseconds(attention(grouped), a100()));
}

// Heads of a group that are not packed read their keys again from memory, unless one head of all sequences fits the L2.
TEST(Attention, UnpackedHeadsReadTheirKeysAgain) {
  AttentionShape shape = decoding(2048, 4096);
  shape.window = 1024;
  const KernelCost cost = kernel_family("attention").cost(attention(shape), a100());
  EXPECT_GT(cost.hbm_bytes / bytes(attention(shape)), 3.5);
  shape.window = 0;
  const KernelCost packed = kernel_family("attention").cost(attention(shape), a100());
  EXPECT_NEAR(packed.hbm_bytes / bytes(attention(shape)), 1, 1e-6);
}

TEST(Attention, AServingEngineWritesNewKeysBefore) {
  AttentionShape shape{.query_heads = 32, .kv_heads = 32, .query_length = 4096, .kv_length = 4096};
  const double alone = microseconds(attention(shape), h100());
  shape.serving = true;
  EXPECT_GT(microseconds(attention(shape), h100()), alone + 10);
}

TEST(Sweep, StepsOfAWindowAreAsManyTilesAsItTouches) {
  Sweep sweep{.rows = 1, .columns = 1000, .row_tile = 64, .column_tile = 100, .first = 1000, .window = 150};
  sweep.causal = true;
  EXPECT_EQ(steps_of(sweep).longest, 2);
  sweep.window = 0;
  EXPECT_EQ(steps_of(sweep).longest, 10);
}

TEST(Mla, AbsorbedQueriesMeetOneKeyOf576ElementsAToken) {
  const Kernel kernel = mla({.batch = 4, .heads = 128, .query_length = 1, .kv_length = 1000});
  EXPECT_DOUBLE_EQ(flops(kernel).value(), 2.0 * 4 * 128 * 1000 * (576 + 512));
  EXPECT_EQ(bytes(kernel), Bytes(2 * (4L * 1000 * 576 + 4L * 128 * (576 + 512))));
}

TEST(Mla, PrefillAttendsWithKeysOf192AndValuesOf128) {
  const Kernel kernel = mla({.heads = 16, .query_length = 100, .kv_length = 100});
  EXPECT_DOUBLE_EQ(flops(kernel).value(), 2.0 * 16 * (100 * 101 / 2) * (192 + 128));
}

// The cache's new latents and keys of each head are written around the attention: they count where the time does.
TEST(Mla, CountsTheTrafficAndTheEnergyOfAllItsKernels) {
  MlaShape shape{.batch = 4, .heads = 16, .query_length = 512, .kv_length = 512};
  const KernelFamily& family = kernel_family("mla");
  const KernelCost alone = family.cost(mla(shape), h100());
  shape.serving = true;
  const KernelCost serving = family.cost(mla(shape), h100());
  const Bytes written = Bytes(4L * 512 * 576 * 2 * 2);
  EXPECT_EQ(serving.hbm_bytes - alone.hbm_bytes, written);
  EXPECT_EQ(serving.l2_bytes - alone.l2_bytes, written);
  EXPECT_GT(serving.power * serving.duration, alone.power * alone.duration);
  // Between its two kernels the device idles.
  const KernelCost late = family.cost(mla({.batch = 4, .heads = 16, .query_length = 512, .kv_length = 512}),
                                      h100({"launch.graph=101.26 us"}));
  const double more = (late.power * late.duration - alone.power * alone.duration).value();
  EXPECT_NEAR(more, (h100().power.idle * 100_us).value(), 1e-3 * more);
}

TEST(Softmax, CausalReadsTheTriangleAndWritesAll) {
  const SoftmaxShape shape{.matrices = 2, .rows = 100, .width = 100, .causal = true, .type = DataType::fp16};
  EXPECT_EQ(bytes(softmax(shape)), Bytes(2 * 2L * (100 * 101 / 2) + 2 * 2L * 100 * 100));
}

TEST(Dropout, KeepsAMaskOfOneByteAnElement) {
  EXPECT_EQ(bytes(dropout({.elements = 1000})), Bytes(1000 * (2 + 2 + 1)));
  EXPECT_EQ(bytes(dropout({.elements = 1000, .adds = true, .bias = true})), Bytes(1000 * (2 + 2 + 2 + 1)));
  EXPECT_EQ(bytes(dropout({.elements = 1000, .bias = true, .backward = true})), Bytes(1000 * (2 + 1 + 2 + 2)));
}

TEST(Unscale, ReadsAndWritesEveryGradientOnce) {
  EXPECT_EQ(bytes(unscale({.elements = 1000, .input = DataType::fp16})), Bytes(1000 * (2 + 4)));
}

}  // namespace
}  // namespace warploom
