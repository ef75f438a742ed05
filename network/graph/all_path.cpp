// SPDX-License-Identifier: Apache-2.0
// Depth-first search, bounded by what is left to the destination.
#include "network/graph/all_path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/core/errors.hpp"

namespace warploom {

void AllPathRouter::extend(VertexId to, int left, std::vector<EdgeId>& way, std::vector<VertexId>& seen,
                           std::vector<std::vector<EdgeId>>& found) {
  const VertexId at = seen.back();
  if (at == to) {
    if (found.size() >= most_paths)
      throw UserError(fmt::format("more than {} ways to `{}`", most_paths, graph().name(to)),
                      "use the shortest ways only: `all_paths: false`");
    found.push_back(way);
    return;
  }
  for (const EdgeId edge : graph().out(at)) {
    const VertexId next = graph().to(edge);
    const int rest = left - step_cost(edge, to);
    if (!reaches(next, to) || distance(next, to) > rest) continue;
    if (std::ranges::find(seen, next) != seen.end()) continue;
    way.push_back(edge);
    seen.push_back(next);
    extend(to, rest, way, seen, found);
    way.pop_back();
    seen.pop_back();
  }
}

std::vector<std::vector<EdgeId>> AllPathRouter::paths(VertexId from, VertexId to) {
  std::vector<EdgeId> links;
  next(from, to, links);  // throws where no way leads there
  std::vector<std::vector<EdgeId>> found;
  std::vector<EdgeId> way;
  std::vector<VertexId> seen{from};
  extend(to, distance(from, to) + extra_, way, seen, found);
  return found;
}

std::vector<EdgeId> AllPathRouter::hashed_path(const FlowKey& flow, std::uint64_t seed) {
  if (flow.from == flow.to) return {};
  auto all = paths(flow.from, flow.to);
  return all[hash_of(flow, flow.from, seed) % all.size()];
}

std::vector<EdgeShare> AllPathRouter::even_split(VertexId from, VertexId to) {
  if (from == to) return {};
  const auto all = paths(from, to);
  std::map<EdgeId, std::size_t> used;
  for (const auto& way : all) {
    for (const EdgeId edge : way) ++used[edge];
  }
  std::vector<EdgeShare> shares;
  for (const auto& [edge, count] : used)
    shares.push_back({edge, static_cast<double>(count) / static_cast<double>(all.size())});
  return shares;
}

}  // namespace warploom
