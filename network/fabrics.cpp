// SPDX-License-Identifier: Apache-2.0
// The list of fabrics: one file and one line each.
#include "network/fabrics.hpp"

#include "network/fabrics/fluid.hpp"
#include "network/packet/packet_fabric.hpp"

namespace warploom {

FabricRegistry fabric_registry() {
  FabricRegistry r;
  r.add<FluidFabric>("fluid", "flows share links max-min fair; exact on the equitable partition");
  r.add<PacketFabric>("packet", "packets in queues: pauses, marks, credits, losses, each flow on its own path");
  return r;
}

}  // namespace warploom
