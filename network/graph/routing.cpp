// SPDX-License-Identifier: Apache-2.0
// Search by cost from the destination: one queue a distance (Dial, CACM 1969), breadth-first where all costs are 1.
#include "network/graph/routing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "network/graph/mix.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

namespace {

constexpr std::size_t most_remembered = std::size_t{64} << 20;  // distances, over all destinations

}  // namespace

std::uint64_t hash_of(const FlowKey& flow, VertexId at, std::uint64_t seed) {
  const std::uint64_t ends = static_cast<std::uint64_t>(flow.from) << 32 | flow.to;
  return mix(mix(mix(ends ^ seed) + flow.channel) ^ at);
}

Router::Router(const NetworkGraph& graph) : graph_(graph), passing_(graph.vertex_count(), 0) {
  for (const VertexGroup& group : graph.groups()) {
    if (group.forwards) continue;
    const bool relays = group.kind == VertexKind::device && graph.relay_cost() > 0;
    std::fill_n(passing_.begin() + group.first, group.count, relays ? graph.relay_cost() : blocked);
  }
}

const Router::Search& Router::search(VertexId to, VertexId at) {
  auto known = searches_.find(to);
  if (known == searches_.end()) {
    if ((searches_.size() + 1) * graph_.vertex_count() > most_remembered) searches_.clear();
    known = searches_.try_emplace(to).first;
    known->second.distance.assign(graph_.vertex_count(), unreached);
    known->second.distance[to] = 0;
    known->second.queues = {{to}};
  }
  Search& search = known->second;
  auto& queues = search.queues;
  // What is nearer than the level that is gone through next is final.
  while (search.reached < queues.size() && (at == no_vertex || search.distance[at] > search.reached)) {
    const std::size_t level = search.reached++;
    for (std::size_t i = 0; i < queues[level].size(); ++i) {
      const VertexId here = queues[level][i];
      const int passing = here == to ? 0 : passing_[here];
      if (search.distance[here] != level || passing == blocked) continue;
      // Links are full duplex: who is beside me can come to me.
      for (const EdgeId edge : graph_.out(here)) {
        const VertexId next = graph_.to(edge);
        const std::size_t through = level + graph_.kind(edge).cost + static_cast<std::size_t>(passing);
        if (through >= search.distance[next]) continue;
        search.distance[next] = static_cast<std::uint16_t>(through);
        if (through >= queues.size()) queues.resize(through + 1);
        queues[through].push_back(next);
      }
    }
    queues[level] = {};
  }
  if (search.reached >= queues.size() && !queues.empty()) queues = {};
  return search;
}

void Router::next(VertexId at, VertexId to, std::vector<EdgeId>& links) {
  links.clear();
  if (at == to) return;
  const auto& distance = search(to, at).distance;
  if (distance[at] == unreached) {
    throw UserError(fmt::format("no way leads from `{}` to `{}`", graph_.name(at), graph_.name(to)),
                    "join them by a link that is up");
  }
  for (const EdgeId edge : graph_.out(at)) {
    if (distance[graph_.to(edge)] + step_cost(edge, to) == distance[at]) links.push_back(edge);
  }
}

bool Router::reaches(VertexId from, VertexId to) { return search(to, from).distance[from] != unreached; }

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
  // Farthest first, so that all that comes to a vertex has come before it is left.
  const auto key = [this, to](VertexId at) { return std::pair(-static_cast<int>(distance(at, to)), at); };
  std::map<std::pair<int, VertexId>, double> waiting{{key(from), 1.0}};
  while (!waiting.empty()) {
    const auto [place, share] = *waiting.begin();
    waiting.erase(waiting.begin());
    const VertexId at = place.second;
    next(at, to, links);
    const double each = share / static_cast<double>(std::max<std::size_t>(links.size(), 1));
    for (const EdgeId edge : links) {
      shares.push_back({edge, each});
      waiting[key(graph_.to(edge))] += each;
    }
  }
  return shares;
}

}  // namespace warploom
