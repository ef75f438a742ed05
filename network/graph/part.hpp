// SPDX-License-Identifier: Apache-2.0
// The part of a network that a job's devices use: what their ways lead over, and the inside of their nodes.
//
// Equations: all links that begin a shortest way from any of its devices to up to 64 of them, evenly taken; with them
// what hangs on its devices by NVLink or PCIe but through no other device: cards, switches inside nodes, hosts,
// storage.
#pragma once

#include <vector>

#include "network/graph/graph.hpp"
#include "network/graph/routing.hpp"

namespace warploom {

struct GraphPart {
  std::vector<bool> vertices;
  std::vector<bool> links;
};

GraphPart whole_of(const NetworkGraph& graph);
// Of the devices that have ranks.
GraphPart used_part_of(const NetworkGraph& graph, Router& router);

}  // namespace warploom
