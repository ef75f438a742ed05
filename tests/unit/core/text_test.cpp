// SPDX-License-Identifier: Apache-2.0
// Suggestions find what was meant and stay silent when nothing is near.
#include "sim/core/text.hpp"

#include <gtest/gtest.h>

namespace warploom {
namespace {

using Names = std::vector<std::string>;

TEST(Text, EditDistanceCountsEditsAndSwapsWithoutCase) {
  EXPECT_EQ(edit_distance("ring", "ring"), 0u);
  EXPECT_EQ(edit_distance("Ring", "rinG"), 0u);
  EXPECT_EQ(edit_distance("rng", "ring"), 1u);
  EXPECT_EQ(edit_distance("rign", "ring"), 1u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(Text, EditDistanceIsAMetricOnSamples) {
  const Names names = {"ring", "tree", "rings", "hring", "", "bandwidth", "bandwith"};
  for (const auto& a : names) {
    for (const auto& b : names) EXPECT_EQ(edit_distance(a, b), edit_distance(b, a));
  }
}

TEST(Text, NearestNameIsTheClosestOfTheCandidates) {
  const Names names = {"latency", "bandwidth", "lanes"};
  EXPECT_EQ(nearest_name("bandwith", names), "bandwidth");
  EXPECT_EQ(nearest_name("lane", names), "lanes");
  EXPECT_EQ(nearest_name("LATENCY", names), "latency");
}

TEST(Text, NothingNearGivesNoSuggestion) {
  EXPECT_EQ(nearest_name("colour", Names{"latency", "bandwidth"}), std::nullopt);
  EXPECT_EQ(nearest_name("", Names{"a"}), std::nullopt);
  EXPECT_EQ(nearest_name("x", Names{"y"}), std::nullopt);
  EXPECT_EQ(nearest_name("x", Names{}), std::nullopt);
  EXPECT_EQ(suggestion("colour", Names{"latency"}, "known keys: latency"), "known keys: latency");
}

TEST(Text, QuotedTextIsOneShortPrintableLine) {
  EXPECT_EQ(warploom::quoted("a b"), "`a b`");
  EXPECT_EQ(warploom::quoted("a\nb\x01"), "`a\\nb\\x01`");
  EXPECT_EQ(warploom::quoted(std::string(1000, 'x')), "`" + std::string(60, 'x') + "...`");
  EXPECT_EQ(warploom::quoted(std::string(59, 'x') + "\xC3\xA4" + "yy"),
            "`" + std::string(59, 'x') + "...`");  // no half letter
}

TEST(Text, JsonStringsAreEscaped) { EXPECT_EQ(json_string("a\"\\\n\x02"), "\"a\\\"\\\\\\n\\u0002\""); }

TEST(Text, SplitKeepsEmptyParts) {
  EXPECT_EQ(split("a::b", ':'), (Names{"a", "", "b"}));
  EXPECT_EQ(split("", ':'), Names{""});
  EXPECT_EQ(trim("  a b\n"), "a b");
}

}  // namespace
}  // namespace warploom
