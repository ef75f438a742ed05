// SPDX-License-Identifier: Apache-2.0
// Alignment of two sequences of operations: itself, with some left out, of other shapes, long ones.
#include "workloads/overlay/align.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace warploom {
namespace {

using Tokens = std::vector<OverlayToken>;

OverlayToken product(std::uint64_t shape, Nanoseconds duration = 1000) {
  return {OpClass::gemm, OverlayWord::nothing, shape, duration};
}
OverlayToken small(Nanoseconds duration = 100, OverlayWord word = OverlayWord::nothing) {
  return {OpClass::element_wise, word, 0, duration};
}
OverlayToken norm() { return {OpClass::norm, OverlayWord::nothing, 0, 200}; }

// A layer as a transformer has it; products of four shapes.
Tokens layers(std::size_t count) {
  Tokens tokens;
  for (std::size_t i = 0; i < count; ++i) {
    for (const auto& token : {norm(), product(1), small(100, OverlayWord::softmax), product(2), small(), norm(),
                              product(3), small(100, OverlayWord::activation), product(4), small()}) {
      tokens.push_back(token);
    }
  }
  return tokens;
}

std::set<std::uint32_t> without_partner(const Tokens& tokens, const Alignment& alignment) {
  std::set<std::uint32_t> alone;
  for (std::uint32_t i = 0; i < tokens.size(); ++i) alone.insert(alone.end(), i);
  for (const auto& [i, j] : alignment.pairs) alone.erase(i);
  return alone;
}

Tokens without(Tokens tokens, const std::set<std::uint32_t>& gone) {
  for (auto at = gone.rbegin(); at != gone.rend(); ++at) tokens.erase(tokens.begin() + *at);
  return tokens;
}

TEST(Align, PairsASequenceWithItself) {
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{40}}) {
    const Tokens tokens = layers(count);
    const Alignment alignment = align(tokens, tokens);
    ASSERT_EQ(alignment.pairs.size(), tokens.size());
    for (const auto& [i, j] : alignment.pairs) EXPECT_EQ(i, j);
    EXPECT_TRUE(alignment.is_exact);
  }
}

TEST(Align, FindsExactlyTheOperationsThatWereTakenAway) {
  Tokens tokens;
  for (std::uint64_t i = 1; i <= 500; ++i) tokens.push_back(product(i));
  const std::set<std::uint32_t> gone = {0, 17, 18, 19, 250, 499};
  EXPECT_EQ(without_partner(tokens, align(tokens, without(tokens, gone))), gone);
}

TEST(Align, OfOneLayerTooManyLeavesAsManyOperationsAlone) {
  const Tokens long_one = layers(12);
  const Tokens short_one = layers(11);
  EXPECT_EQ(align(long_one, short_one).pairs.size(), short_one.size());
  EXPECT_EQ(align(short_one, long_one).pairs.size(), short_one.size());
}

TEST(Align, OfProductsInAnotherOrderKeepsTheLongestCommonOnes) {
  const Tokens a = {product(1), product(2), product(3), product(4), product(5)};
  const Tokens b = {product(5), product(1), product(3), product(2), product(4)};
  EXPECT_EQ(align(a, b).pairs.size(), 3U);  // 1, 2 or 3, 4
}

TEST(Align, NeverPairsProductsOfDifferentShapesNorClasses) {
  EXPECT_EQ(pair_score(product(1), product(2)), 0);
  EXPECT_GT(pair_score(product(1), product(0)), 0);
  EXPECT_GT(pair_score(product(1), product(1)), pair_score(product(1), product(0)));
  EXPECT_EQ(pair_score(product(1), small()), 0);
  EXPECT_EQ(pair_score(small(1, OverlayWord::softmax), small(1, OverlayWord::dropout)), 0);
  OverlayToken all_reduce{OpClass::communication, OverlayWord::all_reduce, 64, 10};
  OverlayToken all_gather{OpClass::communication, OverlayWord::all_gather, 64, 10};
  EXPECT_EQ(pair_score(all_reduce, all_gather), 0);
}

TEST(Align, PairsWhatOnlyItsClassSpeaksForUpToFourTimesTheLength) {
  EXPECT_GT(pair_score(small(100), small(400)), 0);
  EXPECT_EQ(pair_score(small(100), small(500)), 0);
  EXPECT_GT(pair_score(small(100, OverlayWord::dropout), small(500, OverlayWord::dropout)), 0);
  OverlayToken known = small(100);
  OverlayToken other = small(500);
  known.shape = other.shape = 7;
  EXPECT_GT(pair_score(known, other), 0);
}

TEST(Align, TellsSmallOperationsApartByTheirTimesWhereNothingElseDoes) {
  const Tokens trace = {product(1), small(1), small(100), product(2)};
  const Tokens model = {product(1), small(90), product(2)};
  const std::set<std::uint32_t> alone = {1};
  EXPECT_EQ(without_partner(trace, align(trace, model)), alone);
}

// Every layer misses one of its operations at most: never more than a window holds.
TEST(Align, ByWindowsFindsWhatTheWholeTableFinds) {
  const Tokens a = layers(300);
  std::set<std::uint32_t> gone;
  for (std::uint32_t layer = 0; layer < 300; layer += 7) gone.insert(layer * 10 + layer % 10);
  const Tokens b = without(a, gone);
  const Alignment whole = align(a, b);
  const Alignment windows = align(a, b, {.exact_cells = 1000, .window = 128});
  EXPECT_TRUE(whole.is_exact);
  EXPECT_FALSE(windows.is_exact);
  EXPECT_EQ(whole.pairs.size(), b.size());
  EXPECT_EQ(windows.pairs.size(), b.size());
  EXPECT_EQ(windows.score, whole.score);
}

TEST(Align, IsCutAtOperationsThatOccurOnce) {
  Tokens a;
  for (std::uint64_t i = 1; i <= 3000; ++i) {
    a.push_back(product(i));
    a.push_back(small());
  }
  const Tokens b = without(a, {1000, 1001, 1002, 3000});
  EXPECT_EQ(align(a, b, {.exact_cells = 1000, .window = 16}).pairs.size(), b.size());
}

// A table of all of them would have 4 x 10^10 cells.
TEST(Align, OfTwoHundredThousandOperationsTakesWindowsAndFindsAll) {
  const Tokens a = layers(20'000);
  std::set<std::uint32_t> gone;
  for (std::uint32_t layer = 0; layer < 20'000; layer += 100) gone.insert(layer * 10 + 3);
  const Tokens b = without(a, gone);
  EXPECT_EQ(align(a, b).pairs.size(), b.size());
}

}  // namespace
}  // namespace warploom
