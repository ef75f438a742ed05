// SPDX-License-Identifier: Apache-2.0
// The equitable partition of traffic on a written-out network: tori, meshes, free-form graphs, hashed paths, faults.
//
// Every flow is routed link by link; an instance whose flows are coupled is one variable with its shares of every link
// it uses. Then colour refinement (1-WL) as in fold.hpp, here on the written-out graph of variables and links: links of
// equal capacity and equal use by variable classes are one class, variables of a traffic that see equal links are one
// class, until nothing parts any more. What is symmetric folds (a ring on a torus is one variable and one link class),
// what hashing or a fault makes unequal does not.
//
// Equations. Even split: of u units that reach a vertex for a destination each of n next links gets u / n, the
// remainder one by one to the first, so that what leaves a vertex is what came, exactly (routers whose ways are of
// unequal length: to the nearest of 10^10 units). Hashed: a flow is `queue_pairs` equal parts, each with a path of its
// own (Router::hashed_path); it goes at the pace of the slowest, as a message ends with its last part. Capacity:
// payload rate x health x (1 - background). A flow that ends at the switch of its node is spread evenly over the
// device's links into it. Source: Grohe et al., ESA 2014; RFC 2992.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "network/fabrics/fold.hpp"
#include "network/graph/graph.hpp"
#include "network/graph/routing.hpp"

namespace warploom {

// How a flow is spread over the ways that a router offers.
struct PathChoice {
  enum class Kind : std::uint8_t {
    even_split,  // all equal ways alike: packet spraying, adaptive routing at its best
    hashed,      // one way a queue pair: ECMP; StaticRouter: forwarding tables; AdaptiveRouter: the emptiest way
  };
  Kind kind = Kind::even_split;
  std::uint64_t seed = 0;
  int queue_pairs = 1;  // hashed: of one flow
};

struct GraphFoldOptions {
  std::int64_t node_size = 1;  // devices that share a node: rings over nodes leave by every card
  PathChoice paths;
  std::vector<double> background;          // by edge: the share of its payload rate that others take; empty: none
  std::int64_t most_shares = 100'000'000;  // (variable, link) pairs, 16 bytes each
};

// Throws UserError for ranks that are not there, for devices that no way joins, for a link that the background fills,
// and for more than can be written out.
Folding fold_graph(const NetworkGraph& graph, Router& router, std::span<const Group> groups,
                   std::span<const Traffic> traffic, const GraphFoldOptions& options);

using RouterFactory = std::function<std::unique_ptr<Router>(const NetworkGraph&)>;

// For FluidFabric: makes a router for each fold.
std::function<Folding(std::span<const Group>, std::span<const Traffic>)> graph_folder(
    std::shared_ptr<const NetworkGraph> graph, RouterFactory router, GraphFoldOptions options);

}  // namespace warploom
