// SPDX-License-Identifier: Apache-2.0
// Layouts: ranks by any order of dimensions, layers on chunks, and errors that say what would work.
#include "workloads/layout.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace warploom {
namespace {

using ::testing::HasSubstr;

Model llama() {
  Model model;
  model.layers = 126;
  model.hidden = 16384;
  model.heads = 128;
  model.kv_heads = 8;
  model.head_dim = 128;
  model.ffn = 53248;
  model.vocab = 128256;
  return model;
}

Layout t2() {
  Layout layout;
  layout.tensor = 8;
  layout.pipeline = 16;
  layout.virtual_stages = 8;
  layout.layer_split = LayerSplit::count_embedding_and_head;
  return layout;
}
constexpr LayoutNeeds t2_needs{16384, 8, 2048, 1};

std::string problems(Layout layout, const LayoutNeeds& needs, const Model& model = llama()) {
  std::string text;
  for (const auto& problem : resolve_layout(layout, model, needs)) {
    text += (problem.is_warning ? "warning " : "") + problem.key + ": " + problem.message + " | " + problem.hint + "\n";
  }
  return text;
}

TEST(Layout, DealsThePublishedLlamaLayersOneAChunk) {
  Layout layout = t2();
  ASSERT_EQ(problems(layout, t2_needs), "");
  resolve_layout(layout, llama(), t2_needs);
  EXPECT_EQ(layout.data, 128);
  const auto chunks = chunks_of(layout, llama());
  ASSERT_EQ(chunks.size(), 128U);
  EXPECT_EQ(chunks.front().layers, 0);
  EXPECT_TRUE(chunks.front().has_embedding);
  EXPECT_EQ(chunks.back().layers, 0);
  EXPECT_TRUE(chunks.back().has_head);
  EXPECT_TRUE(std::all_of(chunks.begin() + 1, chunks.end() - 1, [](const Chunk& c) { return c.layers == 1; }));
  EXPECT_EQ(chunks[5].first_layer, 4);
}

TEST(Layout, NumbersRanksInAnyOrderOfDimensions) {
  Layout layout;
  layout.tensor = 2;
  layout.pipeline = 3;
  layout.data = 4;
  auto order = layout.order;
  do {
    layout.order = order;
    std::set<Rank> seen;
    for (std::int64_t t = 0; t < 2; ++t) {
      for (std::int64_t p = 0; p < 3; ++p) {
        for (std::int64_t d = 0; d < 4; ++d) {
          const Coordinates at{t, 0, p, d};
          const Rank rank = layout.rank(at);
          EXPECT_EQ(layout.coordinates(rank), at);
          seen.insert(rank);
        }
      }
    }
    EXPECT_EQ(seen.size(), 24U);
    EXPECT_EQ(*seen.rbegin(), 23);
    EXPECT_EQ(layout.stride(order[0]), 1);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(Layout, SaysWhichSizesDivideTheDevices) {
  Layout layout = t2();
  layout.data = 64;
  EXPECT_THAT(problems(layout, t2_needs),
              HasSubstr("= 8192, but there are 16384 devices | data: 128 would use them all"));
  layout = t2();
  layout.pipeline = 14;
  layout.virtual_stages = 1;
  layout.layer_split = LayerSplit::even;
  EXPECT_THAT(problems(layout, {1024, 8, 2048, 1}),
              HasSubstr("8 x 1 x 14 (tensor x context x pipeline) = 112 does not divide the 1024 "
                        "devices | with tensor 8, pipeline 4 or 8 or 16 or 32 divides"));
}

TEST(Layout, SaysWhatTensorSizesDivideTheModel) {
  Layout layout = t2();
  layout.tensor = 16;
  EXPECT_THAT(problems(layout, t2_needs),
              HasSubstr("tensor: 16 does not divide the model's key/value heads 8 | 4 or 8 would work"));
  Model odd = llama();
  odd.vocab = 50257;
  EXPECT_THAT(problems(t2(), t2_needs, odd), HasSubstr("pad the vocabulary to 50264"));
}

TEST(Layout, SaysWhatChunksDivideTheLayers) {
  Layout layout = t2();
  layout.layer_split = LayerSplit::even;
  EXPECT_THAT(problems(layout, t2_needs), HasSubstr("virtual_stages: 16 x 8 = 128 chunks do not divide 126 layers"));
  EXPECT_THAT(problems(layout, t2_needs), HasSubstr("layer_split: count_embedding_and_head"));
}

TEST(Layout, ChecksTheLayersOfEachChunk) {
  Layout layout;
  layout.pipeline = 4;
  layout.stage_layers = {31, 32, 32, 31};
  const LayoutNeeds needs{4, 8, 4, 1};
  EXPECT_EQ(problems(layout, needs), "");
  layout.stage_layers = {31, 32, 31};
  EXPECT_THAT(problems(layout, needs), HasSubstr("stage_layers: has 3 entries for 4 x 1 = 4 chunks"));
  layout.stage_layers = {31, 32, 32, 32};
  EXPECT_THAT(problems(layout, needs), HasSubstr("adds up to 127, but the model has 126 layers"));
  layout.stage_layers = {62, 0, 32, 32};
  EXPECT_THAT(problems(layout, needs), HasSubstr("chunk 1 would be empty"));
}

TEST(Layout, SaysWhatGlobalBatchesWork) {
  EXPECT_THAT(problems(t2(), {16384, 8, 2000, 1}), HasSubstr("a global batch of 1920 or 2048 would work"));
  EXPECT_THAT(problems(t2(), {16384, 8, 100, 1}), HasSubstr("a global batch of 128 would work"));
}

TEST(Layout, CountsContextParallelRanksAmongTheDevices) {
  Layout layout = t2();
  layout.context = 2;
  layout.data = 64;
  EXPECT_EQ(problems(layout, t2_needs), "");
  layout.data = 128;
  EXPECT_THAT(problems(layout, t2_needs), HasSubstr("8 x 2 x 16 x 128 (tensor x context x pipeline x data) = 32768"));
}

TEST(Layout, WarnsOfTensorGroupsThatLeaveTheNode) {
  Model model = llama();
  model.kv_heads = 128;
  Layout layout = t2();
  layout.tensor = 16;
  EXPECT_THAT(problems(layout, t2_needs, model),
              HasSubstr("warning tensor: tensor-parallel groups of 16 leave the node of 8 devices"));
  EXPECT_THAT(problems(layout, t2_needs, model), HasSubstr("tensor: 8 stays inside"));
  EXPECT_EQ(problems(layout, {16384, 72, 2048, 1}, model).substr(0, 7), "warning");  // 16 does not divide 72
  EXPECT_EQ(problems(layout, {16384, 64, 2048, 1}, model), "");
  layout = t2();
  layout.order = {Dimension::data, Dimension::tensor, Dimension::context, Dimension::pipeline};
  EXPECT_THAT(problems(layout, t2_needs), HasSubstr("put tensor first in `order`"));
}

TEST(Layout, RefusesAnOrderThatIsNoPermutation) {
  Layout layout = t2();
  layout.order = {Dimension::tensor, Dimension::tensor, Dimension::pipeline, Dimension::data};
  EXPECT_THAT(problems(layout, t2_needs), HasSubstr("order: must name each of"));
}

}  // namespace
}  // namespace warploom
