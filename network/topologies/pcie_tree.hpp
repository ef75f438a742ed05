// SPDX-License-Identifier: Apache-2.0
// One node whose devices meet over PCIe alone: switches, sockets with their memory, what joins the sockets; or Grace's
// coherent links.
//
// Equations: node_wiring.hpp. Peers below one PCIe switch meet there, others at a socket or across. Source: PCI-SIG
// base specification (a tree below a root complex).
#pragma once

#include <cstdint>

#include "network/topologies/node_network.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

class PcieTree final : public GraphTopology {
 public:
  struct Spec {
    std::int64_t gpus = 8;
    HostSideSpec host;
    std::int64_t peers = 0;
    static auto fields() {
      return field_list(
          field("gpus", &Spec::gpus, "devices of the node").in(1, 4096),
          field("host", &Spec::host, "sockets, PCIe switches, storage"),
          field("peers", &Spec::peers, "devices that planners take for a node, such as a socket's; default: all")
              .optional()
              .in(1, 4096));
    }
  };
  PcieTree(const Spec& spec, std::int64_t devices)
      : GraphTopology(in_parts(join_nodes("pcie_tree", inside(spec), nullptr, 1, nullptr), inside(spec), spec.peers),
                      devices) {}

 private:
  static InsideSpec inside(const Spec& spec) {
    InsideSpec node;
    node.gpus = spec.gpus;
    node.host = spec.host;
    return node;
  }
};

}  // namespace warploom
