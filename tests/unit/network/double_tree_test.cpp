// SPDX-License-Identifier: Apache-2.0
// Both trees span all nodes, and what works in one rests in the other.
#include "network/fabrics/double_tree.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace warploom {
namespace {

struct Links {
  std::vector<std::int64_t> parent;
  std::vector<int> children;
};

Links links_of(std::int64_t n, int which) {
  Links links{std::vector<std::int64_t>(static_cast<std::size_t>(n), -1),
              std::vector<int>(static_cast<std::size_t>(n))};
  for (const auto& edges : double_tree(n, which).edges) {
    for (std::int64_t i = 0; i < edges.count; ++i) {
      const std::int64_t child = edges.first + i * edges.stride;
      const std::int64_t parent = child + edges.delta;
      EXPECT_TRUE(child >= 0 && child < n && parent >= 0 && parent < n);
      EXPECT_EQ(links.parent[static_cast<std::size_t>(child)], -1) << "two parents of " << child;
      links.parent[static_cast<std::size_t>(child)] = parent;
      ++links.children[static_cast<std::size_t>(parent)];
    }
  }
  return links;
}

TEST(DoubleTree, EveryNodeButTheRootHasOneWayUpInLogarithmicallyManySteps) {
  for (std::int64_t n = 1; n <= 300; ++n) {
    for (const int which : {0, 1}) {
      const Links links = links_of(n, which);
      const std::int64_t root = double_tree(n, which).root;
      for (std::int64_t node = 0; node < n; ++node) {
        int steps = 0;
        std::int64_t at = node;
        while (at != root && steps <= 20) {
          at = links.parent[static_cast<std::size_t>(at)];
          ASSERT_GE(at, 0) << n << " nodes, tree " << which << ", node " << node;
          ++steps;
        }
        EXPECT_EQ(at, root);
        EXPECT_LE(1 << steps, 2 * n) << n;  // at most floor(log2 n) + 1
        EXPECT_LE(links.children[static_cast<std::size_t>(node)], 2);
      }
    }
  }
}

TEST(DoubleTree, NoNodeHasTwoChildrenInBothTrees) {
  for (std::int64_t n = 2; n <= 300; ++n) {
    const Links first = links_of(n, 0);
    const Links second = links_of(n, 1);
    for (std::size_t node = 0; node < static_cast<std::size_t>(n); ++node) {
      EXPECT_LE(first.children[node] + second.children[node], 2) << n << " nodes, node " << node;
    }
  }
}

TEST(DoubleTree, IsWrittenAsLogarithmicallyManyProgressions) {
  EXPECT_LE(double_tree(1 << 20, 0).edges.size(), 60U);
  EXPECT_LE(double_tree((1 << 20) + 1, 1).edges.size(), 100U);
}

}  // namespace
}  // namespace warploom
