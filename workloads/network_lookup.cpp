// SPDX-License-Identifier: Apache-2.0
// Reads a whole cluster, so that every mistake in it is found, and keeps its network.
#include "workloads/network_lookup.hpp"

#include <filesystem>

#include "network/conditions.hpp"
#include "sim/core/config.hpp"
#include "workloads/cluster.hpp"
#include "workloads/device_lookup.hpp"

namespace warploom {

std::string cluster_path(const std::string& cluster, const Library& library) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(cluster, ignored)) return cluster;
  const std::string in_library = "clusters/" + cluster;
  return library.find(in_library).empty() ? cluster : in_library;
}

FoundNetwork load_network(const std::string& cluster, std::int64_t devices, const std::vector<std::string>& overrides,
                          const Library& library) {
  const ConfigValue config = load_config(cluster_path(cluster, library), overrides, library);
  Diagnostics diagnostics;
  const auto spec = read<ClusterSpec>(config, diagnostics);
  FoundNetwork found;
  found.name = spec.name;
  found.device = spec.device;
  found.known = spec.stands_for;
  found.known.insert(found.known.end(), spec.device.aliases.begin(), spec.device.aliases.end());
  if (!diagnostics.has_errors()) found.network = make_network(spec.network, spec.library, devices, diagnostics);
  if (!diagnostics.has_errors() && spec.timer.is_map()) spec.timer.mark_all_read();
  if (!diagnostics.has_errors()) report_unread(config, diagnostics);
  diagnostics.throw_if_any();
  return found;
}

FoundTopology load_topology(const std::string& cluster, std::int64_t devices, const std::vector<std::string>& overrides,
                            const Library& library) {
  const ConfigValue config = load_config(cluster_path(cluster, library), overrides, library);
  Diagnostics diagnostics;
  const auto spec = read<ClusterSpec>(config, diagnostics);
  FoundTopology found;
  found.name = spec.name;
  // What moves the bytes is no part of what the network is made of.
  const auto fabric = spec.network.is_map() ? spec.network.find("fabric") : std::nullopt;
  if (fabric) fabric->mark_all_read();
  if (!diagnostics.has_errors())
    found.topology = make_topology(fabric ? spec.network.without("fabric") : spec.network, devices, diagnostics);
  if (spec.library.is_map()) spec.library.mark_all_read();
  if (spec.timer.is_map()) spec.timer.mark_all_read();
  if (!diagnostics.has_errors()) report_unread(config, diagnostics);
  diagnostics.throw_if_any();
  return found;
}

std::string device_of(const FoundNetwork& found, const Library& library) {
  const DeviceLookup devices(library);
  for (const std::string& name : found.known) {
    if (const auto canonical = devices.canonical_name(name)) return *canonical;
  }
  return {};
}

}  // namespace warploom
