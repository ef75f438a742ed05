// SPDX-License-Identifier: Apache-2.0
// Any node x any network between nodes.
//
// Equations: those of the parts (node_wiring.hpp and the kind between). For what has no kind of its own: meshes of
// devices below a fat tree (910B, DGX-1V), PCIe nodes on a dragonfly.
#pragma once

#include <cstdint>

#include "network/topologies/node_network.hpp"

namespace warploom {

class ClusterOfNodes final : public GraphTopology {
 public:
  struct Spec {
    InsideSpec node;
    NicSpec nic;
    ConfigValue between;
    static auto fields() {
      return field_list(field("node", &Spec::node, "the inside of a node"),
                        field("nic", &Spec::nic, "the network cards of a node"),
                        field("between", &Spec::between,
                              "what joins the nodes: {kind: fat_tree, rail_fat_tree, rail_only, dragonfly_plus, torus, "
                              "hypercube or full_mesh, ...}"));
    }
    static void check(const Spec& spec, const ConfigValue& at, Diagnostics& diagnostics) {
      between_registry().make(spec.between, diagnostics);
      (void)at;
    }
  };
  ClusterOfNodes(const Spec& spec, std::int64_t devices) : GraphTopology(written(spec), devices) {}

 private:
  static WrittenNetwork written(const Spec& spec) {
    Diagnostics diagnostics;
    const auto between = between_registry().make(spec.between, diagnostics);
    diagnostics.throw_if_any();
    return join_nodes("cluster", spec.node, &spec.nic, between->capacity(), between.get());
  }
};

}  // namespace warploom
