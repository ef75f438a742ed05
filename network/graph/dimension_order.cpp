// SPDX-License-Identifier: Apache-2.0
// Coordinates by division.
#include "network/graph/dimension_order.hpp"

#include <algorithm>
#include <utility>

namespace warploom {

DimensionOrderRouter::DimensionOrderRouter(const NetworkGraph& graph, std::vector<std::int64_t> dimensions)
    : Router(graph), dimensions_(std::move(dimensions)) {
  for (const std::int64_t n : dimensions_) size_ *= n;
  for (const VertexGroup& group : graph.groups()) {
    if (group.kind == VertexKind::device) first_ = group.first;
  }
}

std::pair<VertexId, VertexId> DimensionOrderRouter::steps(VertexId at, VertexId to) const {
  const std::int64_t from = static_cast<std::int64_t>(at) - first_;
  const std::int64_t goal = static_cast<std::int64_t>(to) - first_;
  constexpr std::pair none{no_vertex, no_vertex};
  if (std::min(from, goal) < 0 || std::max(from, goal) >= size_) return none;
  std::int64_t stride = 1;
  for (const std::int64_t n : dimensions_) {
    const std::int64_t x = from / stride % n;
    const std::int64_t away = ((goal / stride % n) - x + n) % n;
    if (away != 0) {
      const auto vertex = [&](std::int64_t next) { return first_ + static_cast<VertexId>(from + (next - x) * stride); };
      const VertexId up = vertex((x + 1) % n);
      const VertexId down = vertex((x + n - 1) % n);
      if (2 * away == n) return {up, down};
      return 2 * away < n ? std::pair(up, up) : std::pair(down, down);
    }
    stride *= n;
  }
  return none;
}

void DimensionOrderRouter::next(VertexId at, VertexId to, std::vector<EdgeId>& links) {
  Router::next(at, to, links);
  const auto wanted = steps(at, to);
  if (wanted.first == no_vertex) return;
  const auto leads_there = [&](EdgeId edge) {
    return graph().to(edge) == wanted.first || graph().to(edge) == wanted.second;
  };
  if (std::ranges::none_of(links, leads_there)) return;
  std::erase_if(links, [&](EdgeId edge) { return !leads_there(edge); });
}

}  // namespace warploom
