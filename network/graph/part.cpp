// SPDX-License-Identifier: Apache-2.0
// Marks ways, then the insides of nodes.
#include "network/graph/part.hpp"

#include <algorithm>

namespace warploom {

namespace {

constexpr std::int64_t most_destinations = 64;

void mark_ways(const NetworkGraph& graph, Router& router, VertexId to, GraphPart& part) {
  std::vector<bool> seen(graph.vertex_count(), false);
  std::vector<VertexId> queue;
  for (Rank rank = 0; rank < graph.device_count(); ++rank) {
    if (!router.reaches(graph.device(rank), to)) continue;
    queue.push_back(graph.device(rank));
    seen[queue.back()] = true;
    part.vertices[queue.back()] = true;
  }
  std::vector<EdgeId> links;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    router.next(queue[i], to, links);
    for (const EdgeId edge : links) {
      part.links[edge / 2] = true;
      const VertexId next = graph.to(edge);
      part.vertices[next] = true;
      if (!seen[next] && next != to) queue.push_back(next);
      seen[next] = true;
    }
  }
}

// Links that are down are parts of a node too.
void mark_insides(const NetworkGraph& graph, GraphPart& part) {
  std::vector<bool> is_inside(graph.vertex_count(), false);
  for (Rank rank = 0; rank < graph.device_count(); ++rank) is_inside[graph.device(rank)] = true;
  const auto is_near = [&graph](const GraphLink& link) {
    const LinkProtocol protocol = graph.kinds()[link.kind].protocol;
    return protocol == LinkProtocol::pcie || protocol == LinkProtocol::nvlink;
  };
  const auto is_device = [&graph](VertexId v) { return graph.group_of(v).kind == VertexKind::device; };
  for (bool has_grown = true; has_grown;) {
    has_grown = false;
    for (const GraphLink& link : graph.links()) {
      if (!is_near(link) || is_inside[link.a] == is_inside[link.b]) continue;
      const VertexId other = is_inside[link.a] ? link.b : link.a;
      if (is_device(other)) continue;
      is_inside[other] = true;
      has_grown = true;
    }
  }
  for (std::size_t i = 0; i < graph.links().size(); ++i) {
    const GraphLink& link = graph.links()[i];
    if (is_near(link) && is_inside[link.a] && is_inside[link.b]) part.links[i] = true;
  }
  for (VertexId v = 0; v < graph.vertex_count(); ++v) part.vertices[v] = part.vertices[v] || is_inside[v];
}

}  // namespace

GraphPart whole_of(const NetworkGraph& graph) {
  return {std::vector<bool>(graph.vertex_count(), true), std::vector<bool>(graph.links().size(), true)};
}

GraphPart used_part_of(const NetworkGraph& graph, Router& router) {
  GraphPart part{std::vector<bool>(graph.vertex_count(), false), std::vector<bool>(graph.links().size(), false)};
  const std::int64_t count = std::min(graph.device_count(), most_destinations);
  for (std::int64_t i = 0; i < count; ++i)
    mark_ways(graph, router, graph.device(i * graph.device_count() / count), part);
  mark_insides(graph, part);
  return part;
}

}  // namespace warploom
