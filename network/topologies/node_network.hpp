// SPDX-License-Identifier: Apache-2.0
// Clusters by composition: what is inside a node x what is between nodes; and networks of devices without nodes.
//
// Equations: node_wiring.hpp inside, the kind's own between. Cards beyond one a device are bonded for planners; rail r
// is card r x cards / rails. Devices themselves are the ends where there are no cards.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "network/topologies/between.hpp"
#include "network/topologies/graph_topology.hpp"
#include "network/topologies/grid_between.hpp"
#include "network/topologies/node_wiring.hpp"

namespace warploom {

// Nodes joined by their cards; `between` null: one node alone.
WrittenNetwork join_nodes(std::string kind, const InsideSpec& node, const NicSpec* nic, std::int64_t nodes,
                          const Between* between);
// One node in parts of `peers` devices that reach each other without what joins the parts (a socket's, a pair over a
// bridge): planners take them for nodes with one shared card, that of their way out: the links between sockets where a
// part has sockets of its own, else the PCIe link up. 0: no parts. Throws UserError where they do not divide it.
WrittenNetwork in_parts(WrittenNetwork node, const InsideSpec& inside, std::int64_t peers);
// Devices joined by their own links, `node` of them a node for planners.
WrittenNetwork join_devices(std::string kind, std::int64_t devices, std::int64_t node, const Between& between,
                            const EndCable& cable, std::int64_t links, std::int64_t planes);
WrittenNetwork join_grid(std::string kind, std::int64_t node, const GridBetween& grid);

// A kind of network between nodes as a topology: its own parameters, `node:` and `nic:`.
template <class Kind>
class NodesJoined : public GraphTopology {
 public:
  struct Spec : Kind::Spec {
    InsideSpec node;
    NicSpec nic;
    static auto fields() {
      return std::tuple_cat(field_list(field("node", &Spec::node, "the inside of a node"),
                                       field("nic", &Spec::nic, "the network cards of a node")),
                            Kind::Spec::fields());
    }
  };
  NodesJoined(const char* kind, const Spec& spec, std::int64_t devices) : GraphTopology(written(kind, spec), devices) {}

 private:
  static WrittenNetwork written(const char* kind, const Spec& spec) {
    const Kind between(spec);
    return join_nodes(kind, spec.node, &spec.nic, between.capacity(), &between);
  }
};

// A grid of devices as a topology: its own parameters and `node:`.
template <class Kind>
class GridOfDevices : public GraphTopology {
 public:
  struct Spec : Kind::Spec {
    std::int64_t node = 0;
    static auto fields() {
      return std::tuple_cat(Kind::Spec::fields(),
                            field_list(field("node", &Spec::node, "devices that planners take for a node; default: all")
                                           .optional()
                                           .in(1, 1'000'000)));
    }
  };
  GridOfDevices(const char* kind, const Spec& spec, std::int64_t devices)
      : GraphTopology(written(kind, spec), devices) {}

 private:
  static WrittenNetwork written(const char* kind, const Spec& spec) {
    const auto grid = std::make_shared<const Kind>(spec);
    WrittenNetwork made = join_grid(kind, spec.node, *grid);
    made.router = [grid](const NetworkGraph& graph) { return grid->router(graph); };
    return made;
  }
};

}  // namespace warploom
