// SPDX-License-Identifier: Apache-2.0
// Least loaded, hop by hop.
#include "network/graph/adaptive.hpp"

#include <algorithm>

namespace warploom {

std::vector<EdgeId> AdaptiveRouter::hashed_path(const FlowKey& flow, std::uint64_t /*seed*/) {
  std::vector<EdgeId> path;
  std::vector<EdgeId> links;
  for (VertexId at = flow.from; at != flow.to; at = graph().to(path.back())) {
    next(at, flow.to, links);
    path.push_back(*std::ranges::min_element(
        links, {}, [this](EdgeId edge) { return load_[edge] / graph().payload(edge).value(); }));
  }
  return path;
}

void AdaptiveRouter::add(const std::vector<EdgeId>& path, double load) {
  for (const EdgeId edge : path) load_[edge] += load;
}

}  // namespace warploom
