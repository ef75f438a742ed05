// SPDX-License-Identifier: Apache-2.0
// A network written out: devices, cards, switches and hosts, and every link between them.
//
// For what does not fold: packets, hashed paths, faults, free-form files, counts and pictures. Grows with the devices,
// so that it is built on demand; what only needs rates of a regular tree asks Topology instead.
//
// A link is full duplex: edge 2i leads from a to b of link i, edge 2i + 1 back.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/core/units.hpp"
#include "sim/work/group.hpp"

namespace warploom {

using VertexId = std::uint32_t;
using LinkIndex = std::uint32_t;
using EdgeId = std::uint32_t;
inline constexpr VertexId no_vertex = UINT32_MAX;

enum class VertexKind : std::uint8_t { device, card, network_switch, host, storage };

// Vertices of one kind, of consecutive ids: "leaf 3" is vertex first + 3.
struct VertexGroup {
  std::string name;  // "device", "nvswitch", "leaf", "spine"
  VertexKind kind = VertexKind::network_switch;
  VertexId first = 0;
  std::uint32_t count = 0;
  bool forwards = true;    // traffic of others goes through it; devices of a torus do, of a fat tree do not
  Bytes buffer{0};         // packet memory that a switch's ports share; 0: the packet fabric's default
  Power power{0};          // of one, as far as a file says; 0: unknown
  double price = 0;        // dollars of one; 0: unknown
  std::int64_t radix = 0;  // ports that one has, as its data sheet says; 0: unknown
  int chips = 1;           // that act as one vertex: the NVSwitch chips of a node
};

// What a link is, and so how packets are held back on it.
enum class LinkProtocol : std::uint8_t { ethernet, infiniband, nvlink, pcie, unified_bus };
enum class LinkMedium : std::uint8_t { board, copper, optic };

struct LinkKind {
  std::string name;  // "nvlink", "nic", "leaf": those of a topology's tiers
  LinkProtocol protocol = LinkProtocol::infiniband;
  LinkMedium medium = LinkMedium::optic;
  Bandwidth rate{0};        // of one cable, one way, as the data sheet says it
  double efficiency = 1.0;  // of which payload gets at best
  Time latency;             // to cross the link and the switch behind it
  Power power{0};           // of a cable's two ends; 0: unknown
  double price = 0;         // dollars of a cable; 0: unknown
  std::uint16_t cost = 1;   // what a hop over it counts for where the shortest way is sought
  friend bool operator==(const LinkKind&, const LinkKind&) = default;

  Bandwidth payload() const { return rate * efficiency; }
};

struct GraphLink {
  VertexId a = 0;
  VertexId b = 0;
  std::uint16_t kind = 0;
  std::uint16_t width = 1;  // parallel cables that act as one (a device's links into one switch)
  float health = 1.0F;      // share of the rate that is left; 0: down
};

class NetworkGraph {
 public:
  // Ids follow each other in the order of the calls. Returns the id of the group's first vertex.
  VertexId add(VertexGroup group);
  std::uint16_t add(LinkKind kind);
  // Throws UserError for a link from a vertex to itself and for ids that are not there.
  LinkIndex connect(VertexId a, VertexId b, std::uint16_t kind, std::uint16_t width = 1);
  // The share of its rate that a link has left; 0: down, and no path uses it.
  void set_health(LinkIndex link, double health);
  // What passing on what is not theirs counts for at devices that do not forward; 0: they never do. For networks with
  // faults: NCCL's PXN, and what it does for a device whose card is down (NVLink to one beside it, out over that
  // one's).
  void set_relay_cost(int cost) { relay_cost_ = cost; }
  int relay_cost() const { return relay_cost_; }
  // Devices in the order of their ranks; without it the vertices of kind `device` in the order of their ids.
  void set_devices(std::vector<VertexId> devices);
  // Sorts the edges by vertex; before it nothing below may be asked. May be called again after changes. Throws
  // UserError that names the element for a link without rate and for a device that no link reaches.
  void finish();

  std::span<const VertexGroup> groups() const { return groups_; }
  std::span<const LinkKind> kinds() const { return kinds_; }
  std::span<const GraphLink> links() const { return links_; }
  std::size_t vertex_count() const { return vertex_count_; }
  std::size_t edge_count() const { return 2 * links_.size(); }

  const VertexGroup& group_of(VertexId vertex) const;
  std::string name(VertexId vertex) const;             // "leaf 3"
  std::string edge_name(EdgeId edge) const;            // "leaf 3 -> spine 1"
  std::span<const EdgeId> out(VertexId vertex) const;  // that are not down, ascending

  const GraphLink& link(EdgeId edge) const { return links_[edge / 2]; }
  const LinkKind& kind(EdgeId edge) const { return kinds_[link(edge).kind]; }
  VertexId from(EdgeId edge) const { return edge % 2 == 0 ? link(edge).a : link(edge).b; }
  VertexId to(EdgeId edge) const { return edge % 2 == 0 ? link(edge).b : link(edge).a; }
  // All cables of the link together, one way, for payload.
  Bandwidth payload(EdgeId edge) const {
    return kind(edge).payload() * (static_cast<double>(link(edge).width) * static_cast<double>(link(edge).health));
  }

  // The NVLink switch that a vertex hangs on, which can add up and multicast; no_vertex where there is none.
  VertexId nvlink_switch(VertexId vertex) const;

  std::int64_t device_count() const { return static_cast<std::int64_t>(devices_.size()); }
  VertexId device(Rank rank) const { return devices_[static_cast<std::size_t>(rank)]; }

 private:
  std::vector<VertexGroup> groups_;
  std::vector<LinkKind> kinds_;
  std::vector<GraphLink> links_;
  std::vector<VertexId> devices_;
  std::size_t vertex_count_ = 0;
  int relay_cost_ = 0;
  std::vector<std::uint32_t> first_out_;  // CSR
  std::vector<EdgeId> out_;
};

}  // namespace warploom
