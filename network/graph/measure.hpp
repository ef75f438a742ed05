// SPDX-License-Identifier: Apache-2.0
// What can be measured on a written-out network: who reaches whom, how far, and how much crosses a cut.
#pragma once

#include <cstdint>
#include <vector>

#include "network/graph/graph.hpp"
#include "network/graph/routing.hpp"
#include "sim/core/units.hpp"

namespace warploom {

// Throws UserError that names those of the first `devices` which others of them do not reach. Looks from every device
// of up to 512, else from 64, evenly taken.
void require_connected(const NetworkGraph& graph, Router& router, std::int64_t devices);

// Links on the shortest way (of several of equal cost the fewest) from every vertex to `to`; the way over PCIe from a
// device to its card is not counted. INT_MAX where none leads there.
std::vector<int> hops_to(const NetworkGraph& graph, Router& router, VertexId to);

// Links on the longest of the shortest ways between devices; the way over PCIe from a device to its card is not
// counted. From as many devices as above: of large networks it may be more.
int diameter_of(const NetworkGraph& graph, Router& router);

// A part of the devices: by rank.
using Half = std::vector<bool>;

// Data-sheet rate that devices of one half can send to the other at once, one way: the maximum flow, so that a thin cut
// anywhere between counts. Source: Boykov and Kolmogorov 2004, as in Boost.Graph.
Bandwidth flow_between(const NetworkGraph& graph, const Half& half);

struct Cut {
  Bandwidth rate{0};         // of flow_between
  std::int64_t smaller = 0;  // devices of the smaller half
};

// The least over halves by rank and over halves by distance from a few far nodes (and the given ones): for structured
// networks their known bisection, for others an upper bound of it, which is NP-hard to find exactly. Nodes stay whole:
// of an odd number n the halves are floor(n / 2) and the rest; a node that is not full is in the larger half. Devices
// of a single node are halved themselves.
Cut bisection_of(const NetworkGraph& graph, Router& router, std::int64_t node_size,
                 const std::vector<Half>& halves = {});

}  // namespace warploom
