// SPDX-License-Identifier: Apache-2.0
// What a packet is on each kind of link.
#pragma once

#include <cstdint>

#include "network/graph/graph.hpp"
#include "network/packet/spec.hpp"

namespace warploom {

// A PCI Express packet has 256 bytes of payload as most systems set it; its headers are in the link's efficiency.
constexpr std::int64_t pcie_unit = 256;

struct Framing {
  std::int64_t unit = 1;    // payload of a packet
  std::int64_t header = 0;  // of it
  std::int64_t train = 1;   // packets that move as one
};

inline Framing framing_of(LinkProtocol protocol, const PacketSpec& spec) {
  switch (protocol) {
    case LinkProtocol::ethernet:
      return {spec.ethernet.mtu.count(), spec.ethernet.header.count(), spec.train};
    case LinkProtocol::nvlink:
      return {spec.nvlink.packet().count(), (spec.nvlink.flit * spec.nvlink.header_flits).count(), spec.nvlink.train};
    case LinkProtocol::pcie:
      return {pcie_unit, 0, spec.nvlink.train};
    case LinkProtocol::infiniband:
    case LinkProtocol::unified_bus:
      break;
  }
  return {spec.infiniband.mtu.count(), spec.infiniband.header.count(), spec.train};
}

}  // namespace warploom
