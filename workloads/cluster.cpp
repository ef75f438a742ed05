// SPDX-License-Identifier: Apache-2.0
// The machine of a cluster: its device class and its network.
#include "workloads/cluster.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "hw_models/slowest_device.hpp"
#include "hw_models/table_timer.hpp"

namespace warploom {

namespace {

// A path is relative to the file that it is written in, or to where the command was given.
std::string path_of_table(const TimerSpec& spec, const ConfigValue& timer) {
  const std::filesystem::path path(spec.table);
  const auto at = timer.find("table");
  if (path.is_absolute() || !at || at->origin().is_command_line()) return spec.table;
  return (std::filesystem::path(at->origin().file()).parent_path() / path).string();
}

void use_table(const ClusterSpec& spec, Cluster& cluster, Diagnostics& diagnostics) {
  const auto timer = read<TimerSpec>(spec.timer, diagnostics);
  if (timer.table.empty()) return;
  try {
    const auto table = std::make_shared<const KernelTable>(KernelTable::load(path_of_table(timer, spec.timer)));
    for (DeviceClass& device : cluster.machine.device_classes) {
      device.timer = std::make_shared<const TableTimer>(table, device.timer);
    }
    cluster.assumptions.push_back(fmt::format(
        "kernels: {} measured rows of {}, interpolated; others by the analytic model", table->size(), timer.table));
  } catch (const UserError& error) {
    const Origin origin = error.origin().is_known() ? error.origin() : spec.timer.origin();
    diagnostics.error(origin, error.origin().is_known() ? "" : spec.timer.path_of("table"), error.message(),
                      error.hint());
  }
}

}  // namespace

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
  if (spec.timer.is_map() && !diagnostics.has_errors()) use_table(spec, cluster, diagnostics);
  Network network = make_network(spec.network, spec.library, devices, diagnostics);
  cluster.machine.planner = std::move(network.planner);
  cluster.machine.fabric = std::move(network.fabric);
  cluster.topology = std::move(network.topology);
  cluster.assumptions.insert(cluster.assumptions.end(), network.assumptions.begin(), network.assumptions.end());
  return cluster;
}

WARPLOOM_DEFINE_CONFIG(HostSpec);
WARPLOOM_DEFINE_CONFIG(ClusterSpec);

}  // namespace warploom
