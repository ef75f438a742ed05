// SPDX-License-Identifier: Apache-2.0
// Trees of switches written out: how many real switches a unit of each tier is made of, and which cable goes where.
//
// Equations. A switch of tier t has down_t cables to the tier below and up_t = down_t x rate_below / (oversubscription
// x cable rate), rounded up; its cables share the exact rate. A unit of tier t (of `of` units of tier t - 1) has K_t
// parallel switches: as many as radix asks for, K_t = ceil(all its ports / radix), where no number is given. A radix
// holds for the tiers above it too, and no switch has more ports; what cannot be built of such switches is an error
// that names the tier. Without any radix switches have as many ports as the first tier uses, or larger ones where its
// uplinks reach no more (inspect says so). Each lower switch has cables to all K_t where K_t <= up_{t-1}; otherwise to
// one of g equal groups of them: over rails each rail to its own (only where number or radix ask for it), else lower
// switch s to group s mod g, the smallest that fits. K_t / g is raised to a divisor of up_{t-1}, so that cables spread
// evenly. Assumes that every unit is cabled for its full size. Source: Al-Fares et al., SIGCOMM 2008 (groups of the
// core); the counts equal those of NVIDIA's SuperPOD reference architectures (RA-11333-001 table 3, RA-10207-001 table
// 3).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "network/topologies/network_builder.hpp"
#include "network/topologies/tree_specs.hpp"

namespace warploom {

// What the tree hangs on: end e of n joins rail e x rails / n of its node, with `links` cables into each plane.
struct Ends {
  std::int64_t nodes = 0;
  std::int64_t each = 1;  // of a node
  VertexId first = 0;
  std::int64_t links = 1;
  std::int64_t stride = 0;  // from node to node; 0: `each`
  VertexId at(std::int64_t node, std::int64_t i) const {
    return first + static_cast<VertexId>(node * (stride > 0 ? stride : each) + i);
  }
};

// The cables of an end.
struct EndCable {
  std::string name;
  Bandwidth rate{0};  // of one
  double efficiency = 1.0;
  Time latency;
  CableSpec cable;
};

struct TreeSize {
  std::int64_t switches = 1;  // of a unit: rails in the first tier, above it parallel ones
  std::int64_t groups = 1;    // into which they fall
  bool rails_apart = false;   // a group a rail: rails meet further up
  std::int64_t down = 0;      // cables of one switch, rounded up
  std::int64_t up = 0;        // 0 at the root
  Bandwidth cable{0};         // of one of these
  std::int64_t radix = 0;     // ports that a switch has, as some tier says; 0: none says
};

struct TreeShape {
  std::int64_t rails = 1;   // switches of a unit of the first tier
  std::int64_t planes = 1;  // equal trees that never meet
  std::string prefix;       // of the switches' names
};

// Tiers of one name, of none, or of a name that is something else's in a written-out network.
void check_tier_names(std::span<const SwitchTierSpec> tiers, const ConfigValue& at, Diagnostics& diagnostics);

// Of one plane. `links`: cables of a node into one plane. Throws UserError where ports do not suffice.
std::vector<TreeSize> size_tree(std::span<const SwitchTierSpec> tiers, const TreeShape& shape, std::int64_t links,
                                Bandwidth rate);

// Switches for as many nodes as there are; upper tiers that nothing needs are left out.
void wire_tree(NetworkBuilder& builder, const Ends& ends, const EndCable& cable, std::span<const SwitchTierSpec> tiers,
               const TreeShape& shape);

// A card's cables: one into each plane.
EndCable card_cable(const NicSpec& nic);

}  // namespace warploom
