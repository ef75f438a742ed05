// SPDX-License-Identifier: Apache-2.0
// What the flows of an instance put on each link of a written-out network, in whole units.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "network/fabrics/explicit_flows.hpp"
#include "network/fabrics/graph_fold.hpp"
#include "network/graph/adaptive.hpp"

namespace warploom {

// Finer than units_per_flow, so that splits over powers of two (2^18 in all) stay whole.
inline constexpr std::int64_t graph_units_per_flow = units_per_flow << 14;

class GraphLoads {
 public:
  GraphLoads(const NetworkGraph& graph, Router& router, const PathChoice& paths)
      : graph_(graph),
        router_(router),
        adaptive_(dynamic_cast<AdaptiveRouter*>(&router)),
        paths_(paths),
        units_(graph.edge_count(), 0) {}

  // The links that the flows use together, ascending; valid until the next call.
  std::span<const Share> of(std::span<const ExplicitFlow> flows);

 private:
  void add(EdgeId edge, std::int64_t units);
  void add_hashed(const ExplicitFlow& flow);
  void add_port(const ExplicitFlow& flow);
  void add_weighted(const ExplicitFlow& flow);
  void add_split(VertexId to, std::span<const ExplicitFlow> flows);
  VertexId device(Rank rank) const;

  const NetworkGraph& graph_;
  Router& router_;
  AdaptiveRouter* adaptive_;  // the same; wants to know who went where
  PathChoice paths_;
  std::vector<std::int64_t> units_;  // by edge, of this instance
  std::vector<EdgeId> used_;
  std::vector<Share> shares_;
  std::vector<ExplicitFlow> sorted_;
  // The ways towards one destination.
  struct Place {
    std::int64_t units = 0;
    std::uint32_t ways_in = 0;
    std::vector<EdgeId> next;
  };
  std::unordered_map<VertexId, Place> places_;
  std::vector<VertexId> order_;
  std::vector<EdgeId> links_;
};

}  // namespace warploom
