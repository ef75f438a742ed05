// SPDX-License-Identifier: Apache-2.0
// Breadth-first search from the destination.
#include "network/graph/routing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/core/errors.hpp"

namespace warploom {

namespace {

constexpr std::uint16_t unreached = UINT16_MAX;
constexpr std::size_t most_remembered = std::size_t{64} << 20;  // distances, over all destinations

std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

std::uint64_t hash_of(const FlowKey& flow, VertexId at, std::uint64_t seed) {
  const std::uint64_t ends = static_cast<std::uint64_t>(flow.from) << 32 | flow.to;
  return mix(mix(mix(ends ^ seed) + flow.channel) ^ at);
}

}  // namespace

const std::vector<std::uint16_t>& Router::distances(VertexId to) {
  if (const auto known = distances_.find(to); known != distances_.end()) return known->second;
  if ((distances_.size() + 1) * graph_.vertex_count() > most_remembered) distances_.clear();
  auto& distance = distances_[to];
  distance.assign(graph_.vertex_count(), unreached);
  distance[to] = 0;
  std::vector<VertexId> queue{to};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const VertexId at = queue[i];
    if (at != to && !graph_.group_of(at).forwards) continue;
    // Links are full duplex: who is beside me can come to me.
    for (const EdgeId edge : graph_.out(at)) {
      const VertexId next = graph_.to(edge);
      if (distance[next] != unreached) continue;
      distance[next] = static_cast<std::uint16_t>(distance[at] + 1);
      queue.push_back(next);
    }
  }
  return distance;
}

void Router::next(VertexId at, VertexId to, std::vector<EdgeId>& links) {
  links.clear();
  if (at == to) return;
  const auto& distance = distances(to);
  if (distance[at] == unreached) {
    throw UserError(fmt::format("no way leads from `{}` to `{}`", graph_.name(at), graph_.name(to)),
                    "join them by a link that is up");
  }
  for (const EdgeId edge : graph_.out(at)) {
    const VertexId next = graph_.to(edge);
    if (distance[next] + 1 == distance[at] && (next == to || graph_.group_of(next).forwards)) links.push_back(edge);
  }
}

std::vector<EdgeId> Router::hashed_path(const FlowKey& flow, std::uint64_t seed) {
  std::vector<EdgeId> path;
  std::vector<EdgeId> links;
  for (VertexId at = flow.from; at != flow.to; at = graph_.to(path.back())) {
    next(at, flow.to, links);
    path.push_back(links[hash_of(flow, at, seed) % links.size()]);
  }
  return path;
}

std::vector<EdgeShare> Router::even_split(VertexId from, VertexId to) {
  std::vector<EdgeShare> shares;
  std::vector<EdgeId> links;
  std::map<VertexId, double> here{{from, 1.0}};
  while (!here.empty() && !here.contains(to)) {
    std::map<VertexId, double> further;
    for (const auto& [at, share] : here) {
      next(at, to, links);
      const double each = share / static_cast<double>(links.size());
      for (const EdgeId edge : links) {
        shares.push_back({edge, each});
        further[graph_.to(edge)] += each;
      }
    }
    here = std::move(further);
  }
  return shares;
}

}  // namespace warploom
