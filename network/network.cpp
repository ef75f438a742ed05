// SPDX-License-Identifier: Apache-2.0
// Puts topology, library and fabric together.
#include "network/network.hpp"

#include <fmt/format.h>

#include <optional>

#include "network/collectives.hpp"
#include "network/conditions.hpp"
#include "network/fabrics.hpp"
#include "network/packet/packet_fabric.hpp"

namespace warploom {

namespace {

struct Silent : BundleListener {
  void on_bundle_done(std::uint64_t /*token*/, bool /*alike*/) override {}
};

std::string fluid_in_words(const RoutingSpec& routing) {
  const auto ways = [&]() -> std::string {
    switch (routing.policy) {
      case RoutingPolicy::spray:
        break;
      case RoutingPolicy::ecmp:
        return fmt::format("{} queue pair{} a flow, each on one way by its hash (ecmp)", routing.queue_pairs,
                           routing.queue_pairs == 1 ? "" : "s");
      case RoutingPolicy::static_tables:
        return "one way to each device (static tables)";
      case RoutingPolicy::adaptive:
        return "each flow where least goes (adaptive)";
      case RoutingPolicy::all_paths:
        return "even split over all ways, longer ones too (all_paths)";
    }
    return "even split over equal-cost paths";
  };
  return ways() + "; no loss, fair shares at once (fluid)";
}

// What `fabric:` asks for. Is made once here, so that a mistake comes out with its place. `words`: what the packet
// fabric says of itself.
FabricFactory fabric_of(const ConfigValue& fabric, const std::shared_ptr<const Topology>& topology,
                        Diagnostics& diagnostics, std::string& words) {
  const FabricRegistry registry = fabric_registry();
  Engine engine;
  Silent silent;
  try {
    const auto made = registry.make(fabric, diagnostics, topology, engine, silent);
    if (const auto* packets = dynamic_cast<const PacketFabric*>(made.get())) words = packets->in_words();
  } catch (const UserError& error) {
    diagnostics.error(fabric.origin(), fabric.path(), error.message(), error.hint());
  }
  return [topology, fabric](Engine& clock, BundleListener& listener) {
    Diagnostics mistakes;
    auto made = fabric_registry().make(fabric, mistakes, topology, clock, listener);
    mistakes.throw_if_any();
    return made;
  };
}

std::string kind_of(const ConfigValue& fabric) {
  if (!fabric.is_map()) return fabric.text();
  const auto kind = fabric.find("kind");
  return kind && kind->is_scalar() ? kind->text() : std::string();
}

}  // namespace

Network make_network(const ConfigValue& network, const ConfigValue& library, std::int64_t devices,
                     Diagnostics& diagnostics) {
  Network made;
  const std::size_t before = diagnostics.error_count();
  const auto fabric = network.is_map() ? network.find("fabric") : std::nullopt;
  const ConfigValue between = fabric ? network.without("fabric") : network;
  const auto topology = devices > 0 ? make_topology(between, devices, diagnostics) : nullptr;
  if (devices <= 0)
    diagnostics.error(network.origin(), network.path(), fmt::format("expected at least 1 device, got {}", devices));
  const auto spec = read<LibrarySpec>(library, diagnostics);
  if (diagnostics.error_count() != before) return made;

  std::string words;
  if (fabric && !fabric->is_null()) {
    made.fabric = fabric_of(*fabric, topology, diagnostics, words);
    if (diagnostics.error_count() != before) return {};
    made.fabric_kind = kind_of(*fabric);
  } else {
    made.fabric_kind = "fluid";
    made.fabric = [topology](Engine& engine, BundleListener& listener) {
      return fabric_registry().make_named("fluid", topology, engine, listener);
    };
  }
  made.topology = topology;
  made.assumptions.push_back(fmt::format("network: {} of {} devices, {} used; {}", topology->kind(),
                                         topology->cluster_size(), topology->device_count(),
                                         words.empty() ? fluid_in_words(topology->routing()) : words));
  made.assumptions.push_back(fmt::format("collectives: {}; algorithm and protocol by the library's own cost model{}",
                                         spec.name,
                                         spec.version.empty() ? "" : fmt::format(", version {}", spec.version)));
  made.planner = std::make_shared<Planner>(topology, spec);
  return made;
}

}  // namespace warploom
