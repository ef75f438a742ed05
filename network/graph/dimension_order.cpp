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

VertexId DimensionOrderRouter::step(VertexId at, VertexId to) const {
  const std::int64_t from = static_cast<std::int64_t>(at) - first_;
  const std::int64_t goal = static_cast<std::int64_t>(to) - first_;
  if (std::min(from, goal) < 0 || std::max(from, goal) >= size_) return no_vertex;
  std::int64_t stride = 1;
  for (const std::int64_t n : dimensions_) {
    const std::int64_t x = from / stride % n;
    const std::int64_t away = ((goal / stride % n) - x + n) % n;
    if (away != 0) {
      const std::int64_t next = 2 * away <= n ? (x + 1) % n : (x + n - 1) % n;
      return first_ + static_cast<VertexId>(from + (next - x) * stride);
    }
    stride *= n;
  }
  return no_vertex;
}

void DimensionOrderRouter::next(VertexId at, VertexId to, std::vector<EdgeId>& links) {
  Router::next(at, to, links);
  const VertexId wanted = step(at, to);
  if (wanted == no_vertex) return;
  const auto leads_there = [&](EdgeId edge) { return graph().to(edge) == wanted; };
  if (std::ranges::none_of(links, leads_there)) return;
  std::erase_if(links, [&](EdgeId edge) { return !leads_there(edge); });
}

}  // namespace warploom
