// SPDX-License-Identifier: Apache-2.0
// A traffic with its gates: which flow waits for which, and so for double trees.
#pragma once

#include <cstdint>
#include <vector>

#include "network/fabrics/explicit_flows.hpp"
#include "network/packet/state.hpp"
#include "sim/work/group.hpp"

namespace warploom {

struct GatedFlow {
  ExplicitFlow flow;
  std::int64_t before = 0;      // units that its sender has given to flows before it
  std::uint32_t out = nothing;  // gate that it passes, gate that it feeds: numbers within the traffic
  std::uint32_t in = nothing;
  std::uint32_t input = 0;  // of the gate that it feeds
};

struct WrittenTraffic {
  std::vector<GatedFlow> flows;
  std::vector<std::uint32_t> gates;  // inputs of each
  std::vector<std::int64_t> units;   // that come to each of a gate's inputs
  bool is_made = false;
  bool is_single = true;  // one instance
};

// Flows of FlowPattern::tree: those of the first tree of an instance stand before those of the second. An inner node's
// way up waits for all its children, every way down for the parent's (at the root: for all children). Leaves flows
// alone that are no edge of a tree over the group's nodes in the order of its members.
void join_trees(WrittenTraffic& written, const Group& group, std::int64_t node_size);

}  // namespace warploom
