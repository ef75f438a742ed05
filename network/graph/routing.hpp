// SPDX-License-Identifier: Apache-2.0
// Ways through a written-out network: the next links towards a device, and whole paths chosen among them.
//
// Equation: of the links out of a vertex, those that begin a way of least cost to the destination (links of cost 1, as
// most are: of fewest hops), by a search from it through vertices that forward. Hashed ECMP: hop by hop the link of
// number hash(flow, vertex, seed) mod count, so that one flow keeps its path and flows collide as on real fabrics. Even
// split: every link of the set gets an equal share. Source: RFC 2992 (ECMP by hash); splitmix64 as the hash.
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
  explicit Router(const NetworkGraph& graph) : graph_(graph) {}
  virtual ~Router() = default;

  // Links out of `at` that lead nearer to `to`, ascending; empty at `to`. Throws UserError that names both where no
  // way leads there.
  virtual void next(VertexId at, VertexId to, std::vector<EdgeId>& links);

  // By cost; and whether any way leads there.
  int distance(VertexId from, VertexId to) { return distances(to)[from]; }
  bool reaches(VertexId from, VertexId to);

  virtual std::vector<EdgeId> hashed_path(const FlowKey& flow, std::uint64_t seed);
  // All links of all shortest ways, each with its share, in the order of their distance from the start.
  virtual std::vector<EdgeShare> even_split(VertexId from, VertexId to);

  // even_split() is next() hop by hop, an equal share each, so that flows to one destination may be split together.
  virtual bool splits_by_hops() const { return true; }

  const NetworkGraph& graph() const { return graph_; }

 private:
  const std::vector<std::uint16_t>& distances(VertexId to);

  const NetworkGraph& graph_;
  std::unordered_map<VertexId, std::vector<std::uint16_t>> distances_;  // by cost, to the key
};

}  // namespace warploom
