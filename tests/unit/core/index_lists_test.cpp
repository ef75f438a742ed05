// SPDX-License-Identifier: Apache-2.0
// Lists of indices by a key.
#include "sim/core/index_lists.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace warploom {
namespace {

std::vector<std::uint32_t> list(const IndexLists& lists, std::size_t key) {
  return {lists[key].begin(), lists[key].end()};
}

TEST(IndexLists, HoldWhatWasGivenByKeyAndInOrder) {
  const std::vector<std::size_t> key_of = {3, 0, 3, 1, 3, 0};
  const IndexLists lists(5, [&](auto emit) {
    for (std::uint32_t i = 0; i < key_of.size(); ++i) emit(key_of[i], i);
  });
  EXPECT_EQ(lists.size(), 5U);
  EXPECT_EQ(list(lists, 0), (std::vector<std::uint32_t>{1, 5}));
  EXPECT_EQ(list(lists, 1), (std::vector<std::uint32_t>{3}));
  EXPECT_EQ(list(lists, 2), std::vector<std::uint32_t>{});
  EXPECT_EQ(list(lists, 3), (std::vector<std::uint32_t>{0, 2, 4}));
  EXPECT_EQ(list(lists, 4), std::vector<std::uint32_t>{});
}

TEST(IndexLists, MayHaveNoKeys) {
  EXPECT_EQ(IndexLists(0, [](auto) {}).size(), 0U);
}

}  // namespace
}  // namespace warploom
