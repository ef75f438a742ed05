// SPDX-License-Identifier: Apache-2.0
// The inside of nodes, written out: devices with their switch, mesh or PCIe tree, hosts, and cards beside them.
//
// Equations: a device hangs on its node's switch with all its links, or on its neighbours by pairs. Card c of C belongs
// to devices c G / C to (c + 1) G / C - 1 of G; of more cards than devices each device has C / G. With a host's side,
// devices, cards and storage hang in order on PCIe switches or sockets; without, a device and its card are joined
// directly, at the card's rate. A hop over PCIe counts for two where the shortest way is sought, so that devices of a
// node prefer NVLink.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "network/topologies/network_builder.hpp"
#include "network/topologies/tree_specs.hpp"

namespace warploom {

// Links between two devices of a node.
struct PairSpec {
  std::int64_t a = 0;
  std::int64_t b = 0;
  std::int64_t links = 1;
  static auto fields() {
    return field_list(field("a", &PairSpec::a, "a device of the node, from 0").in(0, 1'000'000),
                      field("b", &PairSpec::b, "another device of the node").in(0, 1'000'000),
                      field("links", &PairSpec::links, "links between the two").optional().in(1, 1024));
  }
};

// The inside of one node: of a switch, of a mesh, of PCIe alone.
struct InsideSpec {
  std::int64_t gpus = 8;
  std::optional<NvlinkSpec> nvlink;
  SwitchSpec nvswitch;
  std::vector<PairSpec> pairs;
  std::int64_t all = 0;
  std::optional<HostSideSpec> host;

  InsideSpec() = default;
  explicit InsideSpec(const NodeSpec& node)
      : gpus(node.gpus), nvlink(node.nvlink), nvswitch(node.nvswitch), host(node.host) {}
  bool is_mesh() const { return !pairs.empty() || all > 0; }

  static auto fields() {
    return field_list(
        field("gpus", &InsideSpec::gpus, "devices of a node").in(1, 4096),
        field("nvlink", &InsideSpec::nvlink,
              "a device's links: into the node's switch, or where `pairs` or `all_pairs` are given to its neighbours; "
              "without: PCIe only"),
        field("nvswitch", &InsideSpec::nvswitch, "the switch inside a node: chips, radix of one, power, price")
            .optional(),
        field("pairs", &InsideSpec::pairs, "point-to-point links between devices of a node").optional(),
        field("all_pairs", &InsideSpec::all, "links between every two devices of a node").optional().in(0, 1024),
        field("host", &InsideSpec::host, "sockets, PCIe and storage of a node"));
  }
  static void check(const InsideSpec& spec, const ConfigValue& at, Diagnostics& diagnostics);
};

// Vertices of the nodes, a node after the other.
struct Nodes {
  std::int64_t count = 0;
  std::int64_t devices_each = 0;
  std::int64_t cards_each = 0;  // 0: none
  VertexId first_device = 0;
  VertexId first_card = 0;

  VertexId device(std::int64_t node, std::int64_t i) const {
    return first_device + static_cast<VertexId>(node * devices_each + i);
  }
  VertexId card(std::int64_t node, std::int64_t i) const {
    return first_card + static_cast<VertexId>(node * cards_each + i);
  }
};

// `nic` null: nothing outside. `devices_forward`: traffic of others goes through devices (meshes that relay).
Nodes wire_nodes(NetworkBuilder& builder, const InsideSpec& inside, const NicSpec* nic, std::int64_t count,
                 bool devices_forward = false);

}  // namespace warploom
