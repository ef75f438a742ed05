// SPDX-License-Identifier: Apache-2.0
// A scale-up domain of several tiers: devices hang with their own links on switches, those on further ones; in planes.
// Multi-rack NVLink domains, UnifiedBus supernodes.
//
// Equations: tree_wiring.hpp with the devices as ends; a device has `links` links into each of `planes` trees that
// never meet. Source: CloudMatrix384, arXiv:2506.12708 section 3.2 (7 planes of 48 L1 and 16 L2 switches); NVIDIA
// NVL576 (two tiers of NVLink switches).
#pragma once

#include <cstdint>
#include <vector>

#include "network/topologies/node_network.hpp"
#include "network/topologies/tree_between.hpp"

namespace warploom {

class ScaleUpTree final : public GraphTopology {
 public:
  struct Spec : TreeBetweenSpec {
    LinkSpec link;
    int planes = 1;
    std::int64_t node = 0;
    static auto fields() {
      return field_list(
          field("link", &Spec::link, "a device's links into one plane"),
          field("planes", &Spec::planes, "equal trees that never meet").optional().in(1, 1024),
          field("node", &Spec::node, "devices that planners take for a node; default: all").optional().in(1, 1'000'000),
          field("tiers", &Spec::tiers, "switches (the first: `of` devices), to the root"));
    }
  };
  ScaleUpTree(const Spec& spec, std::int64_t devices) : GraphTopology(written(spec), devices) {}

 private:
  static WrittenNetwork written(const Spec& spec) {
    const TreeBetween tree(spec, RailUse::none);
    const EndCable cable{"link", spec.link.rate, spec.link.efficiency, spec.link.latency, spec.link.cable};
    return join_devices("scale_up_tree", tree.capacity(), spec.node, tree, cable, spec.link.links, spec.planes);
  }
};

}  // namespace warploom
