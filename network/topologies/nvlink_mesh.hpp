// SPDX-License-Identifier: Apache-2.0
// One node whose devices are joined point to point: DGX-1's hybrid cube mesh, bridges between pairs, full meshes.
//
// Equations: node_wiring.hpp. Devices do not relay for each other; who has no link goes over the host. Source: NVIDIA
// DGX-1 with Tesla V100 system architecture (WP-08437-002), figure 4; H100 PCIe product brief (bridges).
#pragma once

#include <cstdint>

#include "network/topologies/node_network.hpp"

namespace warploom {

class NvlinkMesh final : public GraphTopology {
 public:
  struct Spec {
    InsideSpec node;
    std::int64_t peers = 0;
    static auto fields() {
      return field_list(
          field("node", &Spec::node, "the devices, their links by `pairs` or `all_pairs`, the host"),
          field("peers", &Spec::peers, "devices that planners take for a node, such as a bridged pair; default: all")
              .optional()
              .in(1, 4096));
    }
  };
  NvlinkMesh(const Spec& spec, std::int64_t devices)
      : GraphTopology(in_parts(join_nodes("nvlink_mesh", spec.node, nullptr, 1, nullptr), spec.node, spec.peers),
                      devices) {}
};

}  // namespace warploom
