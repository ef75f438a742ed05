// SPDX-License-Identifier: Apache-2.0
// Rail-optimised tree: card r of every node of a scalable unit meets at leaf r of that unit; spines join the leaves of
// all units under them, an optional core joins those.
//
// Equation: switch_tree.hpp with one switch a rail in each unit of the first tier. Traffic to another rail climbs to
// the spine even inside a unit (PXN, which would take NVLink to the right rail first, is not modelled). Source: NVIDIA
// DGX SuperPOD reference architecture (DGX H100: 32 nodes a scalable unit, 8 leaves).
#pragma once

#include "network/topologies/switch_tree.hpp"

namespace warploom {

class RailFatTree final : public SwitchTree {
 public:
  struct Spec : SwitchTreeSpec {
    std::int64_t rails = 0;
    std::int64_t leaves() const { return rails > 0 ? rails : rails_of(node, nic); }
    static auto fields() {
      return field_list(field("node", &Spec::node, "the devices and the switch inside a node"),
                        field("nic", &Spec::nic, "the network cards of a node, one a rail"),
                        field("tiers", &Spec::tiers, "leaf (`of` nodes a scalable unit), spine, and so on to the root"),
                        field("rails", &Spec::rails,
                              "leaves of a scalable unit, over which a node's cards are spread; default: one a card")
                            .optional()
                            .in(1, 1024));
    }
    static void check(const Spec& spec, const ConfigValue& at, Diagnostics& diagnostics);
  };
  RailFatTree(const Spec& spec, std::int64_t devices)
      : SwitchTree("rail_fat_tree", spec.node, &spec.nic, spec.tiers, spec.leaves(), devices) {}
};

}  // namespace warploom
