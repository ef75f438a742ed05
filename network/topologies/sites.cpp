// SPDX-License-Identifier: Apache-2.0
// Graphs of sites, one behind the other, and their gateways.
#include "network/topologies/sites.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "network/topologies.hpp"
#include "network/topologies/network_builder.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

namespace {

using Site = std::unique_ptr<Topology>;

Site make_site(const SiteSpec& spec, Diagnostics& diagnostics) {
  const TopologyRegistry registry = topology_registry();
  Site one = registry.make(spec.network, diagnostics, std::max<std::int64_t>(spec.devices, 1));
  if (!one || spec.devices > 0) return one;
  return registry.make(spec.network, diagnostics, one->cluster_size());
}

// Equal sites share their kinds of links; one that differs from another's of its name is called by its site.
std::uint16_t kind_of_site(NetworkGraph& graph, LinkKind kind, std::size_t number) {
  const auto same = std::ranges::find(graph.kinds(), kind);
  if (same != graph.kinds().end()) return static_cast<std::uint16_t>(same - graph.kinds().begin());
  if (std::ranges::find(graph.kinds(), kind.name, &LinkKind::name) != graph.kinds().end())
    kind.name = fmt::format("site {} {}", number, kind.name);
  return graph.add(std::move(kind));
}

// A site's graph behind what is there; returns where its vertices begin.
VertexId append(NetworkBuilder& builder, const NetworkGraph& site, std::size_t number) {
  const auto first = static_cast<VertexId>(builder.graph().vertex_count());
  for (const VertexGroup& group : site.groups()) {
    builder.add(fmt::format("site {} {}", number, group.name), group.kind, group.count, group.forwards,
                {group.radix, group.chips, group.buffer, group.power, group.price});
  }
  std::vector<std::uint16_t> kinds;
  for (const LinkKind& kind : site.kinds()) kinds.push_back(kind_of_site(builder.graph(), kind, number));
  for (const GraphLink& link : site.links()) {
    const LinkIndex made = builder.connect(first + link.a, first + link.b, kinds[link.kind], link.width);
    if (link.health != 1.0F) builder.graph().set_health(made, static_cast<double>(link.health));
  }
  return first;
}

const VertexGroup& group_at(const NetworkGraph& site, const std::string& name) {
  const VertexGroup* found = nullptr;
  std::string known;
  for (const VertexGroup& group : site.groups()) {
    if (group.kind != VertexKind::network_switch || group.count == 0) continue;
    known += (known.empty() ? "" : ", ") + group.name;
    if (name.empty() || group.name == name) found = &group;
  }
  if (found == nullptr) {
    throw UserError(name.empty() ? "a site without switches has nothing for a gateway to hang on"
                                 : fmt::format("no switches of a site are called `{}`", name),
                    known.empty() ? "" : "there are " + known);
  }
  return *found;
}

WrittenNetwork build(const Sites::Spec& spec) {
  NetworkBuilder builder;
  WrittenNetwork made;
  made.kind = "sites";
  std::vector<VertexId> devices;
  std::vector<std::pair<VertexId, VertexGroup>> roots;
  for (std::size_t i = 0; i < spec.sites.size(); ++i) {
    Diagnostics diagnostics;
    const Site site = make_site(spec.sites[i], diagnostics);
    diagnostics.throw_if_any();
    const NetworkGraph graph = site->graph();
    if (i > 0 && site->node_size() != made.node_size) {
      throw UserError(
          fmt::format("site {} has nodes of {} devices, site 0 of {}", i, site->node_size(), made.node_size),
          "sites must have equal nodes");
    }
    if (i > 0 && graph.device_count() % site->node_size() != 0)
      throw UserError(fmt::format("site {} ends inside a node", i), "use whole nodes");
    made.node_size = site->node_size();
    made.port = i == 0 ? site->port() : std::min(made.port, site->port());
    made.card = i == 0 ? site->card() : std::min(made.card, site->card());
    made.cards_of_node = i == 0 ? site->cards_of_node() : std::min(made.cards_of_node, site->cards_of_node());
    made.injection = made.injection + site->injection();
    const VertexId first = append(builder, graph, i);
    for (Rank rank = 0; rank < graph.device_count(); ++rank) devices.push_back(first + graph.device(rank));
    roots.emplace_back(first, group_at(graph, spec.gateway.at));
  }
  const VertexId gateways =
      builder.add("gateway", VertexKind::network_switch, static_cast<std::int64_t>(spec.sites.size()), true);
  const Bandwidth rate = spec.gateway.cable.rate.value() > 0 ? spec.gateway.cable.rate : spec.link.rate;
  const std::uint16_t up = builder.kind("gateway", rate, spec.link.efficiency, Time::zero(), spec.gateway.cable);
  const std::uint16_t far =
      builder.kind("long", spec.link.rate, spec.link.efficiency, spec.link.latency, spec.link.cable);
  for (VertexId i = 0; i < roots.size(); ++i) {
    const auto& [first, group] = roots[i];
    for (VertexId s = 0; s < group.count; ++s) {
      for (std::int64_t cable = 0; cable < spec.gateway.links; ++cable)
        builder.connect(first + group.first + s, gateways + i, up);
    }
    for (VertexId j = i + 1; j < roots.size(); ++j) {
      for (int cable = 0; cable < spec.link.links; ++cable) builder.connect(gateways + i, gateways + j, far);
    }
  }
  // Each site against the others.
  Half half;
  for (std::size_t i = 0; i < devices.size(); ++i) half.push_back(devices[i] < roots[1].first);
  made.halves.push_back(std::move(half));
  builder.graph().set_devices(std::move(devices));
  made.graph = builder.finish();
  return made;
}

}  // namespace

void Sites::Spec::check(const Spec& spec, const ConfigValue& at, Diagnostics& diagnostics) {
  if (spec.sites.size() < 2 || spec.sites.size() > 64) {
    diagnostics.error(at.origin(), at.path_of("sites"),
                      fmt::format("expected 2 to 64 sites, got {}", spec.sites.size()));
    return;
  }
  for (const SiteSpec& site : spec.sites) {
    try {
      make_site({site.network, 1}, diagnostics);
    } catch (const UserError& error) {
      diagnostics.error(site.network.origin(), site.network.path(), error.message(), error.hint());
    }
  }
}

Sites::Sites(const Spec& spec, std::int64_t devices) : GraphTopology(build(spec), devices) {}

}  // namespace warploom
