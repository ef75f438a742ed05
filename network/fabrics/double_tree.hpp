// SPDX-License-Identifier: Apache-2.0
// Two complementary binary trees over n nodes, as progressions of edges: what is a leaf in one is an inner node of the
// other.
//
// Equation, first tree: the parent of x > 0, whose lowest set bit is b, is (x - b) | 2b if that is below n, else x - b;
// the root is 0. Second tree: the first of n - 1 - x for even n, of x - 1 (mod n) for odd n. Each tree carries half of
// the data up and down. Source: NCCL 2.30.7 src/graph/trees.cc; Sanders, Speck, Träff, "Two-tree algorithms for full
// bandwidth broadcast, reduction and scan", Parallel Computing 2009.
#pragma once

#include <cstdint>
#include <vector>

namespace warploom {

// Edges from child first + i x stride to its parent, `delta` further, for all i < count.
struct TreeEdges {
  std::int64_t first = 0;
  std::int64_t stride = 1;
  std::int64_t count = 0;
  std::int64_t delta = 0;
};

struct BinaryTree {
  std::int64_t root = 0;
  std::vector<TreeEdges> edges;
};

// log2(n) progressions each. `which`: 0 or 1.
BinaryTree double_tree(std::int64_t n, int which);

}  // namespace warploom
