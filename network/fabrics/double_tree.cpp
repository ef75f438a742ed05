// SPDX-License-Identifier: Apache-2.0
// Level by level: the nodes of one lowest bit are a progression.
#include "network/fabrics/double_tree.hpp"

#include <algorithm>

namespace warploom {

namespace {

void add(std::vector<TreeEdges>& edges, TreeEdges one) {
  if (one.count > 0) edges.push_back(one);
}

std::vector<TreeEdges> first_tree(std::int64_t n) {
  std::vector<TreeEdges> edges;
  for (std::int64_t bit = 1; bit < n; bit *= 2) {
    const auto count = [&](std::int64_t from) { return from < n ? (n - 1 - from) / (4 * bit) + 1 : 0; };
    // Next bit clear: the parent is b further, if there is one; only the last may lack it.
    const std::int64_t low = count(bit);
    const std::int64_t last = bit + 4 * bit * (low - 1);
    const bool lacks = last + bit >= n;
    add(edges, {bit, 4 * bit, low - (lacks ? 1 : 0), bit});
    if (lacks) add(edges, {last, 4 * bit, 1, -bit});
    add(edges, {3 * bit, 4 * bit, count(3 * bit), -bit});
  }
  return edges;
}

}  // namespace

BinaryTree double_tree(std::int64_t n, int which) {
  BinaryTree tree{0, first_tree(n)};
  if (which == 0) return tree;
  const std::vector<TreeEdges> edges = std::move(tree.edges);
  tree.edges.clear();
  if (n % 2 == 0) {
    tree.root = n - 1;
    for (const auto& edge : edges) {
      add(tree.edges, {n - 1 - edge.first - edge.stride * (edge.count - 1), edge.stride, edge.count, -edge.delta});
    }
    return tree;
  }
  tree.root = n > 1 ? 1 : 0;
  for (const auto& edge : edges) {
    const std::int64_t last = edge.first + edge.stride * (edge.count - 1);
    // Node n - 1 becomes node 0; it can only be the last child, or its parent.
    const bool wraps = std::max(last, last + edge.delta) == n - 1;
    add(tree.edges, {edge.first + 1, edge.stride, edge.count - (wraps ? 1 : 0), edge.delta});
    if (!wraps) continue;
    const std::int64_t child = (last + 1) % n;
    add(tree.edges, {child, edge.stride, 1, (last + edge.delta + 1) % n - child});
  }
  return tree;
}

}  // namespace warploom
