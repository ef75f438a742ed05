// SPDX-License-Identifier: Apache-2.0
// In-network reduction over several switches: what is added up on the way to a root switch and copied on the way back.
//
// Equation: a vertex sends a byte up when that byte has come from all its children, and down when it has come from its
// parent (the root: from all its children), so that every link of the tree carries the buffer once each way. Flows are
// one link long and end at switches. Source: Graham et al., "Scalable hierarchical aggregation protocol (SHArP)",
// COMHPC 2016; with one switch it is NVLink SHARP (NVLS). Assumption: a switch adds as fast as its ports receive, and
// has memory for what its slowest child is behind.
#pragma once

#include <utility>
#include <vector>

#include "network/packet/network.hpp"

namespace warploom {

struct ReductionTree {
  VertexId root = 0;
  std::vector<std::pair<VertexId, VertexId>> edges;  // child, parent; children before their parents' own edge
};

// The ways of `members` to `root`; where several are of equal cost the first, so that ways that meet stay together.
ReductionTree reduction_tree(Router& router, const std::vector<VertexId>& members, VertexId root);

// All-reduce of a buffer of `bytes` among the leaves of the tree.
void add_reduction(PacketNetwork& network, TransferId transfer, const ReductionTree& tree, Bytes bytes,
                   Bandwidth limit = Bandwidth{0});

}  // namespace warploom
