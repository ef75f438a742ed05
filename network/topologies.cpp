// SPDX-License-Identifier: Apache-2.0
// The list of topologies: one file and one line each.
#include "network/topologies.hpp"

#include "network/topologies/cluster.hpp"
#include "network/topologies/dragonfly_plus.hpp"
#include "network/topologies/fat_tree.hpp"
#include "network/topologies/free_graph.hpp"
#include "network/topologies/full_mesh.hpp"
#include "network/topologies/hypercube.hpp"
#include "network/topologies/nvlink_mesh.hpp"
#include "network/topologies/nvlink_switch.hpp"
#include "network/topologies/pcie_tree.hpp"
#include "network/topologies/rail_fat_tree.hpp"
#include "network/topologies/rail_only.hpp"
#include "network/topologies/scale_up_tree.hpp"
#include "network/topologies/sites.hpp"
#include "network/topologies/torus.hpp"

namespace warploom {

TopologyRegistry topology_registry() {
  TopologyRegistry r;
  r.add<NvlinkSwitch>("nvlink_switch", "one node: every device has a port into a switch that does not block");
  r.add<NvlinkMesh>("nvlink_mesh", "one node: devices joined point to point (DGX-1V, pairs of PCIe cards)");
  r.add<PcieTree>("pcie_tree", "one node: devices on PCIe switches and sockets, or coherent links (Grace)");
  r.add<ScaleUpTree>("scale_up_tree", "devices on several tiers of switches themselves, in planes (UnifiedBus)");
  r.add<RailFatTree>("rail_fat_tree",
                     "card r of every node of a scalable unit meets at leaf r; spines join the leaves");
  r.add<FatTree>("fat_tree", "plain Clos: all cards of a rack meet at its switch, racks in pods, pods at a core");
  r.add<RailOnly>("rail_only", "a tree a rail; rails meet inside the nodes only");
  r.add<DragonflyPlus>("dragonfly_plus", "groups of leaves and spines, all to all between groups");
  r.add<Torus>("torus", "k-ary n-cube of devices with dimension-order routing");
  r.add<Hypercube>("hypercube", "two devices along each dimension");
  r.add<FullMesh>("full_mesh", "every two devices of a line are joined, in any number of dimensions (UB-Mesh)");
  r.add<ClusterOfNodes>("cluster", "any inside of a node with any network between nodes");
  r.add<Sites>("sites", "clusters at several sites, joined by a few long links");
  r.add<FreeGraph>("graph", "free form: vertices and links as listed");
  return r;
}

}  // namespace warploom
