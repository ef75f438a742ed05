// SPDX-License-Identifier: Apache-2.0
// Finds the links that conditions name, and makes a graph of any topology for them.
#include "network/conditions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <utility>

#include "network/graph/adaptive.hpp"
#include "network/graph/all_path.hpp"
#include "network/graph/selection.hpp"
#include "network/graph/static_routing.hpp"
#include "network/topologies.hpp"
#include "network/topologies/graph_topology.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

namespace {

// More than any way over switches and hosts, so that devices relay only where no other way is left.
constexpr int relay_cost = 64;

constexpr std::array condition_keys{"faults", "degraded", "background", "placement", "routing"};

bool is_between(const GraphLink& link, std::pair<VertexId, VertexId> a, std::pair<VertexId, VertexId> b) {
  const auto in = [](VertexId v, std::pair<VertexId, VertexId> range) { return v >= range.first && v <= range.second; };
  return (in(link.a, a) && in(link.b, b)) || (in(link.a, b) && in(link.b, a));
}

// Throws UserError where there are none.
std::vector<LinkIndex> links_of(const NetworkGraph& graph, const LinksSpec& spec) {
  std::vector<LinkIndex> found;
  const auto links = graph.links();
  if (!spec.kind.empty()) {
    for (LinkIndex i = 0; i < links.size(); ++i) {
      if (graph.kinds()[links[i].kind].name == spec.kind) found.push_back(i);
    }
    if (found.empty()) {
      std::string known;
      for (const LinkKind& kind : graph.kinds()) known += (known.empty() ? "" : ", ") + kind.name;
      throw UserError(fmt::format("no links are of kind `{}`", spec.kind), "there are " + known);
    }
    return found;
  }
  const auto a = select(graph, spec.a);
  const auto b = select(graph, spec.b);
  for (LinkIndex i = 0; i < links.size(); ++i) {
    if (is_between(links[i], a, b)) found.push_back(i);
  }
  if (found.empty()) throw UserError(fmt::format("no link joins `{}` with `{}`", spec.a, spec.b));
  return found;
}

std::vector<LinkIndex> links_of_fault(const NetworkGraph& graph, const FaultSpec& fault) {
  std::vector<LinkIndex> found;
  if (fault.vertex.empty()) {
    found = links_of(graph, fault);
    if (fault.links > static_cast<std::int64_t>(found.size()))
      throw UserError(fmt::format("`{}` and `{}` are joined by {} link{}, not {}", fault.a, fault.b, found.size(),
                                  found.size() == 1 ? "" : "s", fault.links),
                      "leave `links` out for all; parallel cables that act as one are one link (`degraded` thins it)");
    if (fault.links > 0 && static_cast<std::size_t>(fault.links) < found.size())
      found.resize(static_cast<std::size_t>(fault.links));
    return found;
  }
  const auto [first, last] = select(graph, fault.vertex);
  for (LinkIndex i = 0; i < graph.links().size(); ++i) {
    const GraphLink& link = graph.links()[i];
    if ((link.a >= first && link.a <= last) || (link.b >= first && link.b <= last)) found.push_back(i);
  }
  return found;
}

// The mistake of one entry of a list, where the entry stands.
void attempt(const ConfigValue& network, const char* key, std::size_t i, Diagnostics& diagnostics,
             const std::function<void()>& action) {
  try {
    action();
  } catch (const UserError& error) {
    const auto list = network.find(key);
    const bool has_item = list && i < list->items().size();
    const ConfigValue& at = has_item ? list->items()[i] : network;
    diagnostics.error(at.origin(), at.path(), error.message(), error.hint());
  }
}

void apply(const Conditions& conditions, const ConfigValue& network, NetworkGraph& graph,
           std::vector<double>& background, Diagnostics& diagnostics) {
  for (std::size_t i = 0; i < conditions.faults.size(); ++i) {
    attempt(network, "faults", i, diagnostics, [&] {
      for (const LinkIndex link : links_of_fault(graph, conditions.faults[i])) graph.set_health(link, 0);
    });
  }
  for (std::size_t i = 0; i < conditions.degraded.size(); ++i) {
    attempt(network, "degraded", i, diagnostics, [&] {
      const ShareSpec& spec = conditions.degraded[i];
      for (const LinkIndex link : links_of(graph, spec))
        graph.set_health(link, static_cast<double>(graph.links()[link].health) * spec.share);
    });
  }
  for (std::size_t i = 0; i < conditions.background.size(); ++i) {
    attempt(network, "background", i, diagnostics, [&] {
      const ShareSpec& spec = conditions.background[i];
      background.resize(graph.edge_count());
      for (const LinkIndex link : links_of(graph, spec)) {
        for (const std::size_t edge : {std::size_t{2} * link, std::size_t{2} * link + 1}) {
          background[edge] += spec.share;
          if (background[edge] >= 1)
            throw UserError(fmt::format("others fill the link `{}`", graph.edge_name(static_cast<EdgeId>(edge))),
                            "leave a share of it to the job");
        }
      }
    });
  }
}

std::unique_ptr<Router> router_of(RoutingPolicy policy, const Topology& base, const NetworkGraph& graph) {
  switch (policy) {
    case RoutingPolicy::static_tables:
      return std::make_unique<StaticRouter>(graph);
    case RoutingPolicy::adaptive:
      return std::make_unique<AdaptiveRouter>(graph);
    case RoutingPolicy::all_paths:
      return std::make_unique<AllPathRouter>(graph, 1);
    case RoutingPolicy::spray:
    case RoutingPolicy::ecmp:
      break;
  }
  return base.router(graph);
}

std::string folder_of(const ConfigValue& value) {
  return std::filesystem::path(value.origin().file()).parent_path().string();
}

// `devices` 0: all, or those of the placement.
std::shared_ptr<const Topology> with_conditions(const std::shared_ptr<const Topology>& base,
                                                const Conditions& conditions, const ConfigValue& network,
                                                std::int64_t devices, Diagnostics& diagnostics) {
  WrittenNetwork made;
  made.kind = base->kind();
  made.graph = base->graph();
  made.node_size = base->node_size();
  made.port = base->port();
  made.card = base->card();
  made.cards_of_node = base->cards_of_node();
  made.injection = base->injection();
  made.cluster_size = base->cluster_size();
  const std::size_t before = diagnostics.error_count();
  apply(conditions, network, made.graph, made.background, diagnostics);
  if (conditions.placement) {
    const ConfigValue at = network.find("placement").value_or(network);
    try {
      const auto order = placed(*conditions.placement, base->cluster_size(), base->node_size(), folder_of(at));
      if (devices == 0) devices = static_cast<std::int64_t>(order.size());
      if (static_cast<std::int64_t>(order.size()) < devices)
        throw UserError(fmt::format("the job uses {} devices, the placement has {}", devices, order.size()));
      std::vector<VertexId> vertices;
      for (const std::int64_t device : order) vertices.push_back(made.graph.device(device));
      made.graph.set_devices(std::move(vertices));
    } catch (const UserError& error) {
      diagnostics.error(at.origin(), at.path(), error.message(), error.hint());
    }
  }
  if (diagnostics.error_count() != before) return nullptr;
  if (devices == 0) devices = base->cluster_size();
  if (!conditions.faults.empty()) made.graph.set_relay_cost(relay_cost);
  made.routing = conditions.routing.value_or(base->routing());
  made.router = [base, policy = made.routing.policy](const NetworkGraph& graph) {
    return router_of(policy, *base, graph);
  };
  made.graph.finish();
  return std::make_shared<GraphTopology>(std::move(made), devices);
}

}  // namespace

void FaultSpec::check(const FaultSpec& spec, const ConfigValue& at, Diagnostics& diagnostics) {
  const bool is_link = !spec.a.empty() && !spec.b.empty();
  if (is_link == spec.vertex.empty() && spec.a.empty() == spec.b.empty()) return;
  diagnostics.error(at.origin(), at.path(), "expected `vertex`, or `a` and `b`",
                    "such as {vertex: spine 3} or {a: leaf 0, b: spine *}");
}

void ShareSpec::check(const ShareSpec& spec, const ConfigValue& at, Diagnostics& diagnostics) {
  const bool is_link = !spec.a.empty() && !spec.b.empty();
  if (is_link == spec.kind.empty() && spec.a.empty() == spec.b.empty()) return;
  diagnostics.error(at.origin(), at.path(), "expected `kind`, or `a` and `b`",
                    "such as {kind: spine, share: 0.5} or {a: leaf 0, b: spine *, share: 0.5}");
}

std::shared_ptr<const Topology> make_topology(const ConfigValue& network, std::int64_t devices,
                                              Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.error_count();
  ConfigValue bare = network;
  ConfigValue own = network;
  if (network.is_map()) {
    for (const auto& entry : network.entries()) {
      const bool is_condition = std::ranges::find(condition_keys, entry.key) != condition_keys.end();
      if (is_condition) bare = bare.without(entry.key);
      if (!is_condition) own = own.without(entry.key);
    }
  }
  const auto conditions = network.is_map() ? read<Conditions>(own, diagnostics) : Conditions();
  try {
    const TopologyRegistry registry = topology_registry();
    const bool needs_size = devices == 0 || conditions.any();
    std::shared_ptr<const Topology> topology = registry.make(bare, diagnostics, needs_size ? 1 : devices);
    if (!topology || diagnostics.error_count() != before) return nullptr;
    if (!needs_size) return topology;
    const std::int64_t wanted = devices == 0 ? topology->cluster_size() : devices;
    topology = registry.make(bare, diagnostics, conditions.any() ? topology->cluster_size() : wanted);
    if (!conditions.any()) return topology;
    if (devices == 0) return with_conditions(topology, conditions, network, 0, diagnostics);
    if (wanted < 1 || wanted > topology->cluster_size()) registry.make(bare, diagnostics, wanted);  // says so
    if (diagnostics.error_count() != before) return nullptr;
    return with_conditions(topology, conditions, network, wanted, diagnostics);
  } catch (const UserError& error) {
    diagnostics.error(network.origin(), network.path(), error.message(), error.hint());
  }
  return nullptr;
}

}  // namespace warploom
