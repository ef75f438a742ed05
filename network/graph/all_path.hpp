// SPDX-License-Identifier: Apache-2.0
// All-path routing: a flow spreads over every way that is at most `extra` longer than the shortest.
//
// Equation: ways without loops of cost at most distance + extra, each with an equal share; a hashed flow takes one of
// them. On a full mesh of n, extra 1: the direct link and n - 2 ways through another end, 1 / (n - 1) each. Source:
// UB-Mesh, arXiv:2503.20377 section 4 (all-path routing).
#pragma once

#include <cstdint>
#include <vector>

#include "network/graph/routing.hpp"

namespace warploom {

class AllPathRouter final : public Router {
 public:
  AllPathRouter(const NetworkGraph& graph, int extra) : Router(graph), extra_(extra) {}
  std::vector<EdgeId> hashed_path(const FlowKey& flow, std::uint64_t seed) override;
  std::vector<EdgeShare> even_split(VertexId from, VertexId to) override;
  bool splits_by_hops() const override { return false; }
  // All of them. Throws UserError where there are more than `most_paths`.
  std::vector<std::vector<EdgeId>> paths(VertexId from, VertexId to);

 private:
  static constexpr std::size_t most_paths = 10'000;
  void extend(VertexId to, int left, std::vector<EdgeId>& way, std::vector<VertexId>& seen,
              std::vector<std::vector<EdgeId>>& found);

  int extra_;
};

}  // namespace warploom
