// SPDX-License-Identifier: Apache-2.0
// Parameters of a node, its cards and the switches over them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "network/topologies/host_side.hpp"
#include "network/topologies/parts.hpp"
#include "sim/core/config.hpp"

namespace warploom {

struct NvlinkSpec {
  int links = 1;
  Bandwidth rate{0};
  double efficiency = 1.0;
  Time latency = Time::zero();
  CableSpec cable{Bandwidth{0}, LinkMedium::board, LinkProtocol::nvlink, Power{0}, 0};
  static auto fields() {
    return field_list(
        field("links", &NvlinkSpec::links, "links from a device into the node's switch").in(1, 1024),
        field("rate", &NvlinkSpec::rate, "of one link, one way, as the data sheet says it").positive(),
        field("efficiency", &NvlinkSpec::efficiency, "share of the rate that payload gets at best")
            .optional()
            .in(0.01, 1),
        field("latency", &NvlinkSpec::latency, "to cross a link, half the way through the switch included").optional(),
        field("cable", &NvlinkSpec::cable, "medium, protocol, power and price of one link").optional());
  }
};

struct NodeSpec {
  std::int64_t gpus = 8;
  NvlinkSpec nvlink;
  SwitchSpec nvswitch;
  std::optional<HostSideSpec> host;
  static auto fields() {
    return field_list(
        field("gpus", &NodeSpec::gpus, "devices that share the node's switch").in(1, 1'000'000),
        field("nvlink", &NodeSpec::nvlink, "a device's links into the switch"),
        field("nvswitch", &NodeSpec::nvswitch, "the switch inside a node: chips, radix of one, power, price")
            .optional(),
        field("host", &NodeSpec::host, "sockets, PCIe and storage of a node, for what is written out"));
  }
};

struct NicSpec {
  int count = 8;
  Bandwidth rate{0};
  double efficiency = 1.0;
  Time latency = Time::zero();
  int planes = 1;
  CableSpec cable;
  static auto fields() {
    return field_list(
        field("count", &NicSpec::count, "network cards of a node").in(1, 1024),
        field("rate", &NicSpec::rate, "of one card, one way").positive(),
        field("efficiency", &NicSpec::efficiency, "share of the rate that payload gets at best").optional().in(0.01, 1),
        field("latency", &NicSpec::latency, "to cross the cable between card and switch, and the switch").optional(),
        field("planes", &NicSpec::planes, "ports of a card, each into switches of its own that never meet the others'")
            .optional()
            .in(1, 64),
        field("cable", &NicSpec::cable, "medium, protocol, power and price of a card's cables").optional());
  }
};

struct SwitchTierSpec {
  std::string name;
  std::int64_t of = 1;
  double oversubscription = 1.0;
  std::optional<double> efficiency;
  Time latency = Time::zero();
  std::int64_t switches = 0;
  SwitchSpec type;
  CableSpec cable;
  static auto fields() {
    return field_list(
        field("name", &SwitchTierSpec::name, "what the switches are called: leaf, spine, core"),
        field("of", &SwitchTierSpec::of, "units of the tier below (the first: nodes) under one switch")
            .in(1, 1'000'000),
        field("oversubscription", &SwitchTierSpec::oversubscription,
              "bandwidth down over bandwidth up; the last tier has no uplinks")
            .optional()
            .in(0.1, 1000),
        field("efficiency", &SwitchTierSpec::efficiency,
              "share of the uplinks' rate that payload gets at best; default: the card's")
            .in(0.01, 1),
        field("latency", &SwitchTierSpec::latency, "to cross an uplink and the switch behind it").optional(),
        field("switches", &SwitchTierSpec::switches,
              "parallel switches that a unit of this tier is made of; default: as many as their ports ask for (the "
              "first tier has one a rail)")
            .optional()
            .in(1, 1'000'000),
        field("switch", &SwitchTierSpec::type, "ports, buffer, power and price of one switch").optional(),
        field("cable", &SwitchTierSpec::cable, "rate, medium, protocol, power and price of one uplink").optional());
  }
};

}  // namespace warploom
