// SPDX-License-Identifier: Apache-2.0
// The machine of a cluster: its device class and its network.
#include "workloads/cluster.hpp"

#include <utility>

namespace warploom {

Cluster make_cluster(const ClusterSpec& spec, std::int64_t devices, DataType mfu_type, Diagnostics& diagnostics) {
  Cluster cluster;
  cluster.machine.name = spec.name;
  if (!diagnostics.has_errors()) {
    cluster.machine.device_classes.push_back(make_device_class(spec.device, spec.host.launch_mode, mfu_type));
  }
  Network network = make_network(spec.network, spec.library, devices, diagnostics);
  cluster.machine.planner = std::move(network.planner);
  cluster.machine.fabric = std::move(network.fabric);
  cluster.topology = std::move(network.topology);
  cluster.assumptions = std::move(network.assumptions);
  return cluster;
}

}  // namespace warploom
