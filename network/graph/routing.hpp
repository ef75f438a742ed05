// SPDX-License-Identifier: Apache-2.0
// Ways through a written-out network: the next links towards a device, and whole paths chosen among them.
//
// Equation: of the links out of a vertex, those that begin a way of least cost to the destination (links of cost 1, as
// most are: of fewest hops), by a search from it through vertices that forward. Hashed ECMP: hop by hop the link of
// number hash(flow, vertex, seed) mod count, so that one flow keeps its path and flows collide as on real fabrics. Even
// split: every link of the set gets an equal share. A device that does not forward passes on only where the graph says
// so (NetworkGraph::set_relay_cost), and that counts for so much that no way of switches is left for it. Source: RFC
// 2992 (ECMP by hash); splitmix64 as the hash.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "network/graph/graph.hpp"

namespace warploom {

// Who sends what to whom; a queue pair or channel has a path of its own.
struct FlowKey {
  VertexId from = 0;
  VertexId to = 0;
  std::uint32_t channel = 0;
};

// A part of a flow's bytes on a link.
struct EdgeShare {
  EdgeId edge = 0;
  double share = 1.0;
  friend bool operator==(const EdgeShare&, const EdgeShare&) = default;
};

// splitmix64 of a flow, the place where it chooses, and the seed.
std::uint64_t hash_of(const FlowKey& flow, VertexId at, std::uint64_t seed);

// Not to be shared between threads: remembers the distances to the destinations that were asked for.
class Router {
 public:
  explicit Router(const NetworkGraph& graph);
  virtual ~Router() = default;

  // Links out of `at` that lead nearer to `to`, ascending; empty at `to`. Throws UserError that names both where no
  // way leads there.
  virtual void next(VertexId at, VertexId to, std::vector<EdgeId>& links);

  // By cost; and whether any way leads there.
  int distance(VertexId from, VertexId to) { return search(to, from).distance[from]; }
  bool reaches(VertexId from, VertexId to);
  // What the way over an edge towards `to` counts for: the link, and passing through the vertex behind it; `blocked`
  // where that passes nothing on.
  static constexpr int blocked = 1 << 20;
  int step_cost(EdgeId edge, VertexId to) const {
    const VertexId next = graph_.to(edge);
    return graph_.kind(edge).cost + (next == to ? 0 : passing_[next]);
  }

  virtual std::vector<EdgeId> hashed_path(const FlowKey& flow, std::uint64_t seed);
  // All links of all shortest ways, each with its share, in the order of their distance from the start.
  virtual std::vector<EdgeShare> even_split(VertexId from, VertexId to);

  // even_split() is next() hop by hop, an equal share each, so that flows to one destination may be split together.
  virtual bool splits_by_hops() const { return true; }

  const NetworkGraph& graph() const { return graph_; }

 protected:
  static constexpr std::uint16_t unreached = UINT16_MAX;
  // By vertex; valid until the next call.
  const std::vector<std::uint16_t>& distances(VertexId to) { return search(to, no_vertex).distance; }

 private:
  // From one destination outwards, as far as has been asked for.
  struct Search {
    std::vector<std::uint16_t> distance;        // by cost; final below `reached`
    std::vector<std::vector<VertexId>> queues;  // by distance; what is still to be gone through
    std::size_t reached = 0;
  };
  // Goes on until the distance of `at` is final, for no_vertex to the end.
  const Search& search(VertexId to, VertexId at);

  const NetworkGraph& graph_;
  std::vector<int> passing_;  // through each vertex
  std::unordered_map<VertexId, Search> searches_;
};

}  // namespace warploom
