// SPDX-License-Identifier: Apache-2.0
// Gates and flows of a reduction tree.
#include "network/packet/reduction_tree.hpp"

#include <algorithm>
#include <map>

namespace warploom {

ReductionTree reduction_tree(Router& router, const std::vector<VertexId>& members, VertexId root) {
  ReductionTree tree;
  tree.root = root;
  std::map<VertexId, VertexId> parent;
  std::map<VertexId, std::size_t> depth{{root, 0}};
  std::vector<EdgeId> links;
  for (const VertexId member : members) {
    std::vector<VertexId> way{member};
    while (!depth.contains(way.back())) {
      router.next(way.back(), root, links);
      parent[way.back()] = router.graph().to(links.front());
      way.push_back(parent[way.back()]);
    }
    for (std::size_t i = way.size() - 1; i-- > 0;) depth[way[i]] = depth[way[i + 1]] + 1;
  }
  tree.edges.assign(parent.begin(), parent.end());
  std::ranges::stable_sort(tree.edges, [&](const auto& a, const auto& b) { return depth[a.first] > depth[b.first]; });
  return tree;
}

void add_reduction(PacketNetwork& network, TransferId transfer, const ReductionTree& tree, Bytes bytes,
                   Bandwidth limit) {
  std::map<VertexId, std::uint32_t> children;
  for (const auto& [child, parent] : tree.edges) ++children[parent];
  std::map<VertexId, GateId> summed;  // what has come from all children
  std::map<VertexId, std::uint32_t> next_input;
  for (const auto& [vertex, count] : children) summed[vertex] = network.add_gate(transfer, 0, count, bytes.count());
  PacketFlow flow;
  flow.bytes = bytes;
  flow.limit = limit;
  for (const auto& [child, parent] : tree.edges) {
    flow.from = child;
    flow.to = parent;
    flow.gate = children.contains(child) ? summed[child] : nothing;
    network.feed(transfer, network.add(transfer, flow), summed[parent], next_input[parent]++);
  }
  std::map<VertexId, GateId> total;  // what has come from the parent
  total[tree.root] = summed[tree.root];
  for (auto edge = tree.edges.rbegin(); edge != tree.edges.rend(); ++edge) {
    flow.from = edge->second;
    flow.to = edge->first;
    flow.gate = total[edge->second];
    const ConnectionRange down = network.add(transfer, flow);
    if (!children.contains(edge->first)) continue;
    total[edge->first] = network.add_gate(transfer, 0, 1, bytes.count());
    network.feed(transfer, down, total[edge->first], 0);
  }
}

}  // namespace warploom
