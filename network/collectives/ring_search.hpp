// SPDX-License-Identifier: Apache-2.0
// The rings that a library finds between the devices of a node: Hamiltonian cycles packed into its links.
//
// Equation: of the speeds s that it tries, descending, the first that maximises (rings of s that fit) x s; a ring takes
// s of every link that it crosses, both directions of a link count apart. Two devices meet over their own links, else
// over a switch that both have links to (its links together are the device's port). Depth first, the neighbour with
// most left first, a ring's mirror image right after it, with a bounded number of steps. Rings faster than
// `split_above` are then split into two, few rings (up to 4) from 25 GB/s on. Source: NCCL 2.30.7 src/graph/search.cc
// (ncclTopoCompute, ncclTopoSearchRec, ncclTopoDupChannels); not modelled: its preference for one order in all
// channels, its PCIe paths.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "network/collectives/channels.hpp"
#include "network/graph/graph.hpp"

namespace warploom {

struct RingPacking {
  RingGraph graph;                      // channels and rate after splitting; none where there is no ring
  std::vector<std::vector<int>> rings;  // orders of device numbers in the span, before splitting; each from device 0
};

// Throws UserError for fewer than two devices.
RingPacking pack_rings(const NetworkGraph& graph, std::span<const Rank> devices, const TunerSpec& tuner);

}  // namespace warploom
