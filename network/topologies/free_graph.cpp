// SPDX-License-Identifier: Apache-2.0
// Names to vertices, links one by one.
#include "network/topologies/free_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "network/graph/selection.hpp"
#include "network/topologies/network_builder.hpp"
#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"

namespace warploom {

namespace {

constexpr double most_links = 4e6;

Selection select(const FreeGraph::Spec& spec, const std::string& text) {
  std::vector<NamedGroup> groups;
  for (const auto& group : spec.vertices) groups.push_back({group.name, group.count});
  return select(groups, text);
}

void check_link(const FreeGraph::Spec& spec, const GraphLinkSpec& link, double& total) {
  const Selection a = select(spec, link.a);
  const Selection b = select(spec, link.b);
  if (!spec.kinds.contains(link.kind)) {
    std::vector<std::string> names;
    for (const auto& [name, kind] : spec.kinds) names.push_back(name);
    throw UserError(fmt::format("no kind of links is called {}", warploom::quoted(link.kind)),
                    suggestion(link.kind, names));
  }
  if (link.pairwise && a.count() != b.count())
    throw UserError(fmt::format("{} ends cannot be joined one to one with {}", a.count(), b.count()));
  if (a.group == b.group && a.first == b.first && a.last == b.last && (a.count() == 1 || link.pairwise)) {
    throw UserError(fmt::format("a link from `{}` to itself", link.a), "a link joins two different ends");
  }
  total +=
      link.pairwise ? static_cast<double>(a.count()) : static_cast<double>(a.count()) * static_cast<double>(b.count());
}

// Ports that the links of each vertex take, by group.
std::vector<std::vector<std::int64_t>> ports_of(const FreeGraph::Spec& spec) {
  std::vector<std::vector<std::int64_t>> ports;
  for (const VertexGroupSpec& group : spec.vertices) ports.emplace_back(static_cast<std::size_t>(group.count));
  for (const GraphLinkSpec& link : spec.links) {
    const Selection a = select(spec, link.a);
    const Selection b = select(spec, link.b);
    const std::int64_t width = link.links > 0 ? link.links : spec.kinds.at(link.kind).links;
    const auto add = [&](const Selection& here, const Selection& there, bool is_second) {
      for (std::int64_t v = here.first; v <= here.last; ++v) {
        const bool is_both = here.group == there.group && v >= there.first && v <= there.last;
        std::int64_t neighbours = link.pairwise ? 1 : there.count();
        // Every two once, none with itself.
        if (is_both && !link.pairwise) {
          const std::int64_t common = std::min(here.last, there.last) - std::max(here.first, there.first) + 1;
          neighbours = is_second ? 0 : here.count() + there.count() - common - 1;
        }
        ports[here.group][static_cast<std::size_t>(v)] += neighbours * width;
      }
    };
    add(a, b, false);
    add(b, a, true);
  }
  return ports;
}

// What planners ask, from what hangs on the devices.
void measure_ports(WrittenNetwork& made) {
  const NetworkGraph& graph = made.graph;
  double cards = 0;
  bool is_first_card = true;
  for (VertexId v = 0; v < graph.vertex_count(); ++v) {
    if (graph.group_of(v).kind != VertexKind::card) continue;
    ++cards;
    Bandwidth out{0};
    Bandwidth rate{0};
    for (const EdgeId edge : graph.out(v)) {
      if (graph.kind(edge).protocol == LinkProtocol::pcie) continue;
      out = out + graph.payload(edge);
      rate = rate + graph.kind(edge).rate * graph.link(edge).width;
    }
    made.card = is_first_card ? out : std::min(made.card, out);
    made.injection = made.injection + rate;
    is_first_card = false;
  }
  Bandwidth all{0};
  for (Rank rank = 0; rank < graph.device_count(); ++rank) {
    Bandwidth out{0};
    for (const EdgeId edge : graph.out(graph.device(rank))) {
      if (graph.group_of(graph.to(edge)).kind != VertexKind::card) out = out + graph.payload(edge);
      all = all + graph.kind(edge).rate * graph.link(edge).width;
    }
    made.port = rank == 0 ? out : std::min(made.port, out);
  }
  const std::int64_t whole_nodes = graph.device_count() / made.node_size;
  const auto nodes = static_cast<double>(whole_nodes);
  made.cards_of_node = std::min(cards / nodes, static_cast<double>(made.node_size));
  if (cards > 0) {
    made.card = made.card * std::max(cards / nodes / static_cast<double>(made.node_size), 1.0);
  } else {
    made.injection = all;
    if (nodes > 1) {
      made.card = made.port;
      made.cards_of_node = static_cast<double>(made.node_size);
    }
  }
}

WrittenNetwork build(const FreeGraph::Spec& spec) {
  NetworkBuilder builder;
  std::vector<VertexId> first;
  std::int64_t devices = 0;
  for (const VertexGroupSpec& group : spec.vertices) {
    const bool forwards = group.forwards || (group.kind != VertexKind::device && group.kind != VertexKind::storage);
    first.push_back(builder.add(group.name, group.kind, group.count, forwards, group.type));
    if (group.kind == VertexKind::device) devices += group.count;
  }
  std::map<std::string, std::uint16_t> kinds;
  for (const auto& [name, link] : spec.kinds) {
    const std::uint16_t cost = link.cable.protocol == LinkProtocol::pcie ? 2 : 1;
    kinds[name] = builder.kind(name, link.rate, link.efficiency, link.latency, link.cable, cost);
  }
  for (const GraphLinkSpec& link : spec.links) {
    const Selection a = select(spec, link.a);
    const Selection b = select(spec, link.b);
    const std::int64_t width = link.links > 0 ? link.links : spec.kinds.at(link.kind).links;
    const auto vertex = [&](const Selection& s, std::int64_t i) {
      return first[s.group] + static_cast<VertexId>(s.first + i);
    };
    for (std::int64_t i = 0; i < a.count(); ++i) {
      for (std::int64_t j = link.pairwise ? i : 0; j < (link.pairwise ? i + 1 : b.count()); ++j) {
        const VertexId from = vertex(a, i);
        const VertexId to = vertex(b, j);
        // Among the same vertices, every two once.
        if (a.group == b.group && !link.pairwise && to <= from && to >= first[a.group] + a.first &&
            from >= first[b.group] + b.first && from <= first[b.group] + b.last)
          continue;
        builder.connect(from, to, kinds.at(link.kind), width);
      }
    }
  }
  if (!spec.ranks.empty()) {
    std::vector<VertexId> ranks;
    for (const std::string& text : spec.ranks) {
      const Selection some = select(spec, text);
      for (std::int64_t i = some.first; i <= some.last; ++i)
        ranks.push_back(first[some.group] + static_cast<VertexId>(i));
    }
    devices = static_cast<std::int64_t>(ranks.size());
    builder.graph().set_devices(std::move(ranks));
  }
  WrittenNetwork made;
  made.kind = "graph";
  made.node_size = spec.node > 0 ? spec.node : devices;
  if (devices % made.node_size != 0)
    throw UserError(fmt::format("{} devices are no whole nodes of {}", devices, made.node_size), "choose a divisor");
  made.graph = builder.finish();
  measure_ports(made);
  return made;
}

using Report =
    std::function<void(const std::string&, const UserError&, std::optional<std::size_t>, const std::string&)>;

void check_radix(const FreeGraph::Spec& spec, const Report& report) {
  const auto ports = ports_of(spec);
  for (std::size_t i = 0; i < spec.vertices.size(); ++i) {
    const VertexGroupSpec& group = spec.vertices[i];
    if (group.type.radix == 0 || ports[i].empty()) continue;
    const auto most = std::ranges::max_element(ports[i]);
    if (*most <= group.type.radix * group.type.chips) continue;
    report("vertices",
           UserError(fmt::format("the links of `{} {}` take {} ports, it has {}", group.name, most - ports[i].begin(),
                                 *most, group.type.radix * group.type.chips),
                     "give it a larger `radix`, more `chips` that act as one, or fewer links"),
           i, ".switch.radix");
  }
}

}  // namespace

void FreeGraph::Spec::check(const Spec& spec, const ConfigValue& at, Diagnostics& diagnostics) {
  const auto report = [&](const std::string& key, const UserError& error, std::optional<std::size_t> item = {},
                          const std::string& inner = "") {
    const std::string path = at.path_of(key) + (item ? fmt::format("[{}]{}", *item, inner) : "");
    const auto list = at.find(key);
    const bool has_item = list && item && *item < list->items().size();
    const Origin& origin = has_item ? list->items()[*item].origin() : list ? list->origin() : at.origin();
    diagnostics.error(origin, path, error.message(), error.hint());
  };
  std::set<std::string> names;
  double vertices = 0;
  std::int64_t devices = 0;
  for (std::size_t i = 0; i < spec.vertices.size(); ++i) {
    const VertexGroupSpec& group = spec.vertices[i];
    vertices += static_cast<double>(group.count);
    if (group.kind == VertexKind::device) devices += group.count;
    if (group.name.empty() || !names.insert(group.name).second) {
      report("vertices",
             UserError(fmt::format("expected a name that no other group has, got {}", warploom::quoted(group.name))), i,
             ".name");
    }
  }
  if (devices == 0)
    report("vertices", UserError("there is no device", "such as `{name: gpu, kind: device, count: 8}`"));
  double links = 0;
  std::size_t mistakes = 0;
  for (std::size_t i = 0; i < spec.links.size() && mistakes < 20; ++i) {
    try {
      check_link(spec, spec.links[i], links);
    } catch (const UserError& error) {
      report("links", error, i);
      ++mistakes;
    }
  }
  if (std::max(links, vertices) > most_links)
    report("links", UserError(fmt::format("a network of {:.3g} links and {:.3g} vertices", links, vertices),
                              "at most 4,000,000 can be written out"));
  else if (mistakes == 0)
    check_radix(spec, report);
  std::set<std::pair<std::size_t, std::int64_t>> ranked;
  for (std::size_t i = 0; i < spec.ranks.size(); ++i) {
    try {
      const Selection some = select(spec, spec.ranks[i]);
      if (spec.vertices[some.group].kind != VertexKind::device)
        throw UserError(fmt::format("{} is no device", warploom::quoted(spec.ranks[i])), "ranks are devices");
      for (std::int64_t v = some.first; v <= some.last && vertices <= most_links; ++v) {
        if (!ranked.emplace(some.group, v).second)
          throw UserError(fmt::format("`{} {}` has two ranks", spec.vertices[some.group].name, v));
      }
    } catch (const UserError& error) {
      report("ranks", error, i);
    }
  }
}

FreeGraph::FreeGraph(const Spec& spec, std::int64_t devices) : GraphTopology(build(spec), devices) {}

}  // namespace warploom
