// SPDX-License-Identifier: Apache-2.0
// Nodes, one after the other.
#include "network/topologies/node_wiring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace warploom {

namespace {

constexpr std::uint16_t pcie_cost = 2;

CableSpec pcie_cable(const CableSpec& cable) {
  CableSpec made = cable;
  made.medium = LinkMedium::board;
  made.protocol = LinkProtocol::pcie;
  return made;
}

// One node's links among its devices.
void wire_inside(NetworkBuilder& builder, const InsideSpec& inside, const Nodes& nodes) {
  if (!inside.nvlink || inside.gpus < 2) return;
  const NvlinkSpec& nvlink = *inside.nvlink;
  const std::uint16_t kind = builder.kind("nvlink", nvlink.rate, nvlink.efficiency, nvlink.latency, nvlink.cable);
  if (!inside.is_mesh()) {
    const VertexId first = builder.add("nvswitch", VertexKind::network_switch, nodes.count, true, inside.nvswitch);
    for (std::int64_t node = 0; node < nodes.count; ++node) {
      for (std::int64_t i = 0; i < inside.gpus; ++i)
        builder.connect(nodes.device(node, i), first + static_cast<VertexId>(node), kind, nvlink.links);
    }
    return;
  }
  for (std::int64_t node = 0; node < nodes.count; ++node) {
    for (const PairSpec& pair : inside.pairs)
      builder.connect(nodes.device(node, pair.a), nodes.device(node, pair.b), kind, pair.links);
    if (inside.all == 0) continue;
    for (std::int64_t a = 0; a < inside.gpus; ++a) {
      for (std::int64_t b = a + 1; b < inside.gpus; ++b)
        builder.connect(nodes.device(node, a), nodes.device(node, b), kind, inside.all);
    }
  }
}

// Joins devices and their cards directly.
void wire_cards(NetworkBuilder& builder, const NicSpec& nic, const Nodes& nodes) {
  const std::uint16_t kind = builder.kind("pcie", nic.rate, 1.0, Time::zero(), pcie_cable({}), pcie_cost);
  const std::int64_t most = std::max(nodes.devices_each, nodes.cards_each);
  for (std::int64_t node = 0; node < nodes.count; ++node) {
    for (std::int64_t i = 0; i < most; ++i) {
      builder.connect(nodes.device(node, i * nodes.devices_each / most), nodes.card(node, i * nodes.cards_each / most),
                      kind);
    }
  }
}

struct HostKinds {
  std::uint16_t pcie = 0;
  std::uint16_t between = 0;
  std::uint16_t c2c = 0;
  std::uint16_t storage = 0;
};

HostKinds add_kinds(NetworkBuilder& builder, const HostSideSpec& host) {
  const auto add = [&builder](const char* name, const LinkSpec& link) {
    return builder.kind(name, link.rate, link.efficiency, link.latency, pcie_cable(link.cable), pcie_cost);
  };
  HostKinds kinds;
  kinds.pcie = add("pcie", host.pcie);
  if (host.sockets_link) kinds.between = add("socket", *host.sockets_link);
  if (host.c2c) kinds.c2c = add("c2c", *host.c2c);
  if (host.storage)
    kinds.storage = builder.kind("storage", host.storage->rate, 1.0, Time::zero(), pcie_cable({}), pcie_cost);
  return kinds;
}

// Sockets, PCIe switches and storage, with what hangs on them.
void wire_host(NetworkBuilder& builder, const HostSideSpec& host, const Nodes& nodes) {
  const HostKinds kinds = add_kinds(builder, host);
  const VertexId sockets = builder.add("socket", VertexKind::host, nodes.count * host.sockets, true);
  const VertexId bridges = builder.add("pcie switch", VertexKind::network_switch, nodes.count * host.switches, true);
  const std::int64_t drives = host.storage ? host.storage->count : 0;
  const VertexId storage = builder.add("storage", VertexKind::storage, nodes.count * drives, false);
  for (std::int64_t node = 0; node < nodes.count; ++node) {
    const auto socket = [&](std::int64_t i) { return sockets + static_cast<VertexId>(node * host.sockets + i); };
    // The i-th of `count` parts hangs on its share of the switches, or of the sockets.
    const auto port = [&](std::int64_t i, std::int64_t count) {
      if (host.switches == 0) return socket(i * host.sockets / count);
      return bridges + static_cast<VertexId>(node * host.switches + i * host.switches / count);
    };
    for (std::int64_t i = 0; i < host.switches; ++i) {
      builder.connect(bridges + static_cast<VertexId>(node * host.switches + i),
                      socket(i * host.sockets / host.switches), kinds.pcie, host.pcie.links);
    }
    for (std::int64_t a = 0; a < host.sockets; ++a) {
      for (std::int64_t b = a + 1; b < host.sockets; ++b)
        builder.connect(socket(a), socket(b), kinds.between, host.sockets_link->links);
    }
    for (std::int64_t i = 0; i < nodes.devices_each; ++i) {
      if (host.c2c) {
        builder.connect(nodes.device(node, i), socket(i * host.sockets / nodes.devices_each), kinds.c2c,
                        host.c2c->links);
      } else {
        builder.connect(nodes.device(node, i), port(i, nodes.devices_each), kinds.pcie, host.pcie.links);
      }
    }
    for (std::int64_t i = 0; i < nodes.cards_each; ++i)
      builder.connect(nodes.card(node, i), port(i, nodes.cards_each), kinds.pcie, host.pcie.links);
    for (std::int64_t i = 0; i < drives; ++i)
      builder.connect(storage + static_cast<VertexId>(node * drives + i), port(i, drives), kinds.storage);
  }
}

}  // namespace

void InsideSpec::check(const InsideSpec& spec, const ConfigValue& at, Diagnostics& diagnostics) {
  if (spec.is_mesh() && !spec.nvlink) {
    diagnostics.error(at.origin(), at.path_of("nvlink"), "links between devices need their rate",
                      "such as `nvlink: {links: 6, rate: 25 GB/s}`");
  }
  if (!spec.nvlink && !spec.host && spec.gpus > 1) {
    diagnostics.error(at.origin(), at.path_of("host"), "nothing joins the devices of a node",
                      "add `nvlink:` or `host:`");
  }
  std::vector<std::int64_t> used(static_cast<std::size_t>(spec.gpus), spec.all * (spec.gpus - 1));
  std::set<std::pair<std::int64_t, std::int64_t>> known;
  for (std::size_t i = 0; i < spec.pairs.size(); ++i) {
    const PairSpec& pair = spec.pairs[i];
    const std::string path = at.path_of("pairs") + fmt::format("[{}]", i);
    if (pair.a == pair.b) {
      diagnostics.error(at.origin(), path, fmt::format("a link from device {} to itself", pair.a),
                        "a link joins two different devices");
      continue;
    }
    if (std::max(pair.a, pair.b) >= spec.gpus) {
      diagnostics.error(at.origin(), path, fmt::format("there is no device {}", std::max(pair.a, pair.b)),
                        fmt::format("a node has devices 0 to {}", spec.gpus - 1));
      continue;
    }
    if (!known.emplace(std::min(pair.a, pair.b), std::max(pair.a, pair.b)).second) {
      diagnostics.error(at.origin(), path, fmt::format("devices {} and {} are joined twice", pair.a, pair.b),
                        "give all their links at once: `links: 2`");
    }
    used[static_cast<std::size_t>(pair.a)] += pair.links;
    used[static_cast<std::size_t>(pair.b)] += pair.links;
  }
  if (!spec.nvlink || !spec.is_mesh()) return;
  for (std::int64_t i = 0; i < spec.gpus; ++i) {
    const std::int64_t links = used[static_cast<std::size_t>(i)];
    if (links <= spec.nvlink->links) continue;
    diagnostics.error(
        at.origin(), at.path_of("nvlink.links"),
        fmt::format("device {} has {} links to its neighbours, but {} of its own", i, links, spec.nvlink->links));
    return;
  }
}

Nodes wire_nodes(NetworkBuilder& builder, const InsideSpec& inside, const NicSpec* nic, std::int64_t count,
                 bool devices_forward) {
  Nodes nodes;
  nodes.count = count;
  nodes.devices_each = inside.gpus;
  nodes.cards_each = nic == nullptr ? 0 : nic->count;
  nodes.first_device = builder.add("device", VertexKind::device, count * nodes.devices_each, devices_forward);
  nodes.first_card = builder.add("card", VertexKind::card, count * nodes.cards_each, true);
  wire_inside(builder, inside, nodes);
  if (inside.host) {
    wire_host(builder, *inside.host, nodes);
  } else if (nic != nullptr) {
    wire_cards(builder, *nic, nodes);
  }
  return nodes;
}

}  // namespace warploom
