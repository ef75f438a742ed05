// SPDX-License-Identifier: Apache-2.0
// What a plan must know of where a group's members are: nodes, members a node, how far the hops go.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "network/topology.hpp"
#include "sim/play/ports.hpp"

namespace warploom {

struct GroupProfile {
  std::int64_t members = 0;
  std::int64_t nodes = 1;          // of an instance; the most where they differ
  std::int64_t least_in_node = 1;  // members of the node that has fewest
  Time path_latency;               // wires and switches beyond the library's hop, once around the ring
  Time tree_latency;               // the same, from a leaf of the nodes' tree to its root
  bool alike = true;               // instances do not differ in this
  // Of one node whose devices are joined by links of their own: the library's rings over them (ring_search.hpp), as the
  // pairs that all rings together have, each as often as rings pass it; none where there is a switch or no ring.
  std::shared_ptr<const std::vector<MemberPair>> ring_pairs = {};
  std::int64_t rings = 0;     // that the pairs are of
  std::int64_t channels = 0;  // after splitting
  Bandwidth ring_rate{0};     // of all together
  Time longest_hop = {};      // wires and switches between two neighbours, the farthest

  bool in_node() const { return nodes == 1; }
  friend bool operator==(const GroupProfile&, const GroupProfile&) = default;
};

// Of the flows that `pattern` has in the group; the slowest instance where they differ. Throws UserError for ranks that
// the topology does not have.
GroupProfile profile_of(FlowPattern pattern, const Group& group, const Topology& topology);

}  // namespace warploom
