// SPDX-License-Identifier: Apache-2.0
// The machine of a cluster: its device class and its network.
#include "workloads/cluster.hpp"

#include <fmt/format.h>

#include <utility>

#include "hw_models/slowest_device.hpp"

namespace warploom {

Cluster make_cluster(const ClusterSpec& spec, std::int64_t devices, DataType mfu_type, Diagnostics& diagnostics) {
  Cluster cluster;
  cluster.machine.name = spec.name;
  if (!diagnostics.has_errors()) {
    const DeviceSpec slowest = slowest_of(spec.device, devices);
    cluster.machine.device_classes.push_back(make_device_class(slowest, spec.host.launch_mode, mfu_type));
    if (spec.device.architecture.energy.spread > 0 && devices > 1) {
      cluster.assumptions.push_back(fmt::format(
          "chips differ by {:.1f}% in the energy of an operation: at the power limit every device goes at the clock of "
          "the slowest of {}",
          100 * spec.device.architecture.energy.spread, devices));
    }
  }
  Network network = make_network(spec.network, spec.library, devices, diagnostics);
  cluster.machine.planner = std::move(network.planner);
  cluster.machine.fabric = std::move(network.fabric);
  cluster.topology = std::move(network.topology);
  cluster.assumptions.insert(cluster.assumptions.end(), network.assumptions.begin(), network.assumptions.end());
  return cluster;
}

}  // namespace warploom
