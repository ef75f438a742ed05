// SPDX-License-Identifier: Apache-2.0
// The list of topologies: one file and one line each.
#include "network/topologies.hpp"

#include "network/topologies/fat_tree.hpp"
#include "network/topologies/nvlink_switch.hpp"
#include "network/topologies/rail_fat_tree.hpp"

namespace warploom {

TopologyRegistry topology_registry() {
  TopologyRegistry r;
  r.add<NvlinkSwitch>("nvlink_switch", "one node: every device has a port into a switch that does not block");
  r.add<RailFatTree>("rail_fat_tree",
                     "card r of every node of a scalable unit meets at leaf r; spines join the leaves");
  r.add<FatTree>("fat_tree", "plain Clos: all cards of a rack meet at its switch, racks in pods, pods at a core");
  return r;
}

}  // namespace warploom
