// SPDX-License-Identifier: Apache-2.0
// Puts topology, library and fabric together.
#include "network/network.hpp"

#include <fmt/format.h>

#include "network/collectives.hpp"
#include "network/conditions.hpp"
#include "network/fabrics.hpp"

namespace warploom {

Network make_network(const ConfigValue& network, const ConfigValue& library, std::int64_t devices,
                     Diagnostics& diagnostics) {
  Network made;
  const std::size_t before = diagnostics.error_count();
  const auto topology = devices > 0 ? make_topology(network, devices, diagnostics) : nullptr;
  if (devices <= 0)
    diagnostics.error(network.origin(), network.path(), fmt::format("expected at least 1 device, got {}", devices));
  const auto spec = read<LibrarySpec>(library, diagnostics);
  if (diagnostics.error_count() != before) return made;

  made.topology = topology;
  made.assumptions.push_back(
      fmt::format("network: {} of {} devices, {} used; even split over equal-cost paths; no loss, "
                  "fair shares at once (fluid)",
                  topology->kind(), topology->cluster_size(), topology->device_count()));
  made.assumptions.push_back(fmt::format("collectives: {}; algorithm and protocol by the library's own cost model{}",
                                         spec.name,
                                         spec.version.empty() ? "" : fmt::format(", version {}", spec.version)));
  made.planner = std::make_shared<Planner>(topology, spec);
  made.fabric = [topology](Engine& engine, BundleListener& listener) {
    return fabric_registry().make_named("fluid", topology, engine, listener);
  };
  return made;
}

}  // namespace warploom
