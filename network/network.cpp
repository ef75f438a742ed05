// SPDX-License-Identifier: Apache-2.0
// Puts topology, library and fabric together.
#include "network/network.hpp"

#include <fmt/format.h>

#include <utility>

#include "network/collectives.hpp"
#include "network/fabrics.hpp"
#include "network/topologies.hpp"

namespace warploom {

Network make_network(const ConfigValue& network, const ConfigValue& library, std::int64_t devices,
                     Diagnostics& diagnostics) {
  Network made;
  const std::size_t before = diagnostics.error_count();
  std::shared_ptr<const Topology> topology;
  try {
    topology = topology_registry().make(network, diagnostics, devices);
  } catch (const UserError& error) {
    diagnostics.error(network.origin(), network.path(), error.message(), error.hint());
  }
  auto spec = read<LibrarySpec>(library, diagnostics);
  if (diagnostics.error_count() != before) return made;

  made.topology = topology;
  made.assumptions.push_back(
      fmt::format("network: {} of {} devices, {} used; even split over equal-cost paths; no loss, "
                  "fair shares at once (fluid)",
                  topology->kind(), topology->cluster_size(), topology->device_count()));
  made.assumptions.push_back(
      fmt::format("collectives: {}; rings for all of them (no trees, no in-switch reduction), one "
                  "of LL, LL128 and Simple by estimated time",
                  spec.name));
  made.planner = std::make_shared<Planner>(topology, std::move(spec));
  made.fabric = [topology](Engine& engine, BundleListener& listener) {
    return fabric_registry().make_named("fluid", topology, engine, listener);
  };
  return made;
}

}  // namespace warploom
