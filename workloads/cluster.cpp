// SPDX-License-Identifier: Apache-2.0
// The machine of a cluster: its device class and its network.
#include "workloads/cluster.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "hw_models/detailed_cache.hpp"
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

// `detailed` alone, or a map.
TimerSpec timer_of(const ClusterSpec& spec, Diagnostics& diagnostics) {
  if (spec.timer.is_map()) return read<TimerSpec>(spec.timer, diagnostics);
  TimerSpec timer;
  if (spec.timer.is_null()) return timer;
  const auto model = spec.timer.is_scalar() ? enum_from_name<KernelModel>(spec.timer.text()) : std::nullopt;
  if (model) {
    timer.model = *model;
  } else {
    diagnostics.error(spec.timer.origin(), spec.timer.path(),
                      fmt::format("expected `analytic`, `detailed` or a map, got {}", spec.timer.description()),
                      "such as `timer: detailed` or `timer: {table: my_kernels.csv}`");
  }
  return timer;
}

void use_model(const TimerSpec& timer, const DeviceSpec& device, const ClusterSpec& spec, bool uses_cache,
               Cluster& cluster) {
  if (timer.model != KernelModel::detailed) return;
  std::shared_ptr<DetailedCache> cache;
  if (uses_cache) cache = std::make_shared<DetailedCache>(DetailedCache::usual_folder());
  for (DeviceClass& one : cluster.machine.device_classes) {
    one.timer = std::make_shared<const DetailedTimer>(device, spec.host.launch_mode, cache);
  }
  cluster.assumptions.emplace_back(
      "kernels: played on the inside of the device; families without a program by the "
      "analytic model");
  if (!cache) return;
  for (const std::string& note : cache->notes()) cluster.assumptions.push_back("kernels: " + note);
}

void use_table(const TimerSpec& timer, const ClusterSpec& spec, Cluster& cluster, Diagnostics& diagnostics) {
  if (timer.table.empty()) return;
  try {
    const auto table = std::make_shared<const KernelTable>(KernelTable::load(path_of_table(timer, spec.timer)));
    for (DeviceClass& device : cluster.machine.device_classes) {
      device.timer = std::make_shared<const TableTimer>(table, device.timer);
    }
    cluster.assumptions.push_back(fmt::format("kernels: {} measured rows of {}, interpolated; others by the {} model",
                                              table->size(), timer.table, enum_name(timer.model)));
  } catch (const UserError& error) {
    const Origin origin = error.origin().is_known() ? error.origin() : spec.timer.origin();
    diagnostics.error(origin, error.origin().is_known() ? "" : spec.timer.path_of("table"), error.message(),
                      error.hint());
  }
}

// Links that are free: a call is over when its last member has come.
class FreePlanner final : public CollectivePlanner {
 public:
  explicit FreePlanner(std::shared_ptr<const CollectivePlanner> real) : real_(std::move(real)) {}

  Plan plan(const Call& call, const Group& group) const override {
    Plan plan;
    plan.algorithm = "free";
    plan.members_alike = real_->plan(call, group).members_alike;
    return plan;
  }

 private:
  std::shared_ptr<const CollectivePlanner> real_;
};

}  // namespace

Cluster make_cluster(const ClusterSpec& spec, std::int64_t devices, const ClusterOptions& options,
                     Diagnostics& diagnostics) {
  Cluster cluster;
  cluster.machine.name = spec.name;
  const TimerSpec timer = timer_of(spec, diagnostics);
  if (!diagnostics.has_errors()) {
    const DeviceSpec real = slowest_of(spec.device, devices);
    const DeviceSpec slowest = with_free(real, options.ideals);
    cluster.machine.device_classes.push_back(make_device_class(slowest, spec.host.launch_mode, options.mfu_type));
    cluster.machine.device_classes.back().peak = real.peak(options.mfu_type);
    use_model(timer, slowest, spec, options.uses_cache, cluster);
    if (spec.device.architecture.energy.spread > 0 && devices > 1) {
      cluster.assumptions.push_back(fmt::format(
          "chips differ by {:.1f}% in the energy of an operation: at the power limit every device goes at the clock of "
          "the slowest of {}",
          100 * spec.device.architecture.energy.spread, devices));
    }
  }
  if (!diagnostics.has_errors()) use_table(timer, spec, cluster, diagnostics);
  Network network = make_network(spec.network, spec.library, devices, diagnostics);
  cluster.machine.planner = std::move(network.planner);
  if (has(options.ideals, Ideal::network) && cluster.machine.planner) {
    cluster.machine.planner = std::make_shared<const FreePlanner>(std::move(cluster.machine.planner));
  }
  cluster.machine.fabric = std::move(network.fabric);
  cluster.topology = std::move(network.topology);
  cluster.assumptions.insert(cluster.assumptions.end(), network.assumptions.begin(), network.assumptions.end());
  return cluster;
}

WARPLOOM_DEFINE_CONFIG(HostSpec);
WARPLOOM_DEFINE_CONFIG(ClusterSpec);

}  // namespace warploom
