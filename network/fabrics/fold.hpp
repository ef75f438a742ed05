// SPDX-License-Identifier: Apache-2.0
// The equitable partition of all known traffic: which flows always go at equal rates, which links are always equally
// full.
//
// Colour refinement (1-WL) on the graph of variables and links. A variable is a coupled instance or an independent
// flow. Start: all variables of a traffic are one class. Repeat: links of equal use by classes are one class; variables
// that see different link classes are parted; until none is. Then every link of a class carries the same of every
// variable class and every variable of a class crosses the same, so that members of a class get equal max-min rates at
// every moment at which any subset of the traffic runs, and the quotient is solved in their stead. Source: Grohe et
// al., "Dimension reduction via colour refinement", ESA 2014. Links that those below them cannot fill
// (LinkTier::can_bind) are left out: without them the same rates are feasible, so the max-min rates are the same, and
// classes do not part over them. Nothing here grows with the number of devices as long as the layout is regular (boxes
// stay boxes).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "network/fabrics/link_tree.hpp"
#include "sim/play/ports.hpp"

namespace warploom {

struct FoldedLink {
  double capacity = 0;       // payload bytes a second of one link
  std::vector<Share> usage;  // by variable, ascending: what one link of the class carries
  std::uint32_t kind = 0;    // of Folding::kinds
};

struct FoldedVariable {
  std::vector<Share> links;  // by link class
};

struct Folding {
  std::vector<FoldedLink> links;
  std::vector<FoldedVariable> variables;
  // The variables of each traffic, [first, last).
  std::vector<std::pair<VariableId, VariableId>> of_traffic;
  std::int64_t units_per_flow = warploom::units_per_flow;  // what `Share::units` count in
  std::vector<std::string> kinds;                          // what links are called: "nvlink", "nic", "leaf"
  int rounds = 0;
  std::size_t tree_vertices = 0;
};

// Throws UserError for ranks that the topology does not have.
Folding fold(const Topology& topology, std::span<const Group> groups, std::span<const Traffic> traffic);

}  // namespace warploom
