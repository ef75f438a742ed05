// SPDX-License-Identifier: Apache-2.0
// Counts by group and kind; one search from device 0.
#include "network/inspection.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "network/graph/background.hpp"
#include "network/graph/measure.hpp"
#include "network/graph/routing.hpp"
#include "network/topologies/free_graph.hpp"
#include "network/topologies/graph_topology.hpp"
#include "network/topologies/parts.hpp"

namespace warploom {

namespace {

template <class Enum>
std::string_view name_in(Enum value) {
  for (const auto& [candidate, name] : EnumNames<Enum>::values) {
    if (candidate == value) return name;
  }
  return "?";
}

std::vector<VertexCount> count_vertices(const NetworkGraph& graph, const GraphPart& part) {
  std::vector<std::int64_t> ports(graph.vertex_count());
  std::vector<bool> is_up(graph.vertex_count(), false);
  for (std::size_t i = 0; i < graph.links().size(); ++i) {
    const GraphLink& link = graph.links()[i];
    for (const VertexId end : {link.a, link.b}) {
      if (part.links[i]) ports[end] += link.width;
      if (link.health > 0) is_up[end] = true;
    }
  }
  std::vector<VertexCount> counts;
  for (const VertexGroup& group : graph.groups()) {
    VertexCount one;
    one.name = group.name;
    one.kind = group.kind;
    for (VertexId v = group.first; v < group.first + group.count; ++v) {
      if (!part.vertices[v]) continue;
      one.least_ports = one.count == 0 ? ports[v] : std::min(one.least_ports, ports[v]);
      one.most_ports = std::max(one.most_ports, ports[v]);
      if (one.count == 0) one.first = v - group.first;
      one.last = v - group.first;
      ++one.count;
      if (ports[v] > 0 && !is_up[v]) ++one.down;
    }
    if (one.count == 0) continue;
    one.chips = one.count * group.chips;
    one.radix = group.radix * group.chips;
    one.power = group.power * static_cast<double>(one.chips);
    one.price = group.price * static_cast<double>(one.chips);
    counts.push_back(std::move(one));
  }
  return counts;
}

std::vector<CableCount> count_cables(const NetworkGraph& graph, const GraphPart& part,
                                     const std::vector<double>& background) {
  std::vector<CableCount> counts;
  for (const LinkKind& kind : graph.kinds()) {
    CableCount one;
    one.name = kind.name;
    one.medium = kind.medium;
    one.protocol = kind.protocol;
    one.rate = kind.rate;
    one.efficiency = kind.efficiency;
    one.latency = kind.latency;
    counts.push_back(std::move(one));
  }
  for (std::size_t i = 0; i < graph.links().size(); ++i) {
    if (!part.links[i]) continue;
    const GraphLink& link = graph.links()[i];
    CableCount& one = counts[link.kind];
    one.count += link.width;
    if (link.health <= 0) one.down += link.width;
    if (link.health > 0 && link.health < 1) {
      one.degraded += link.width;
      one.least_share = std::min(one.least_share, static_cast<double>(link.health));
    }
    const double taken = taken_of(background, i);
    if (taken > 0) one.busy += link.width;
    one.background = std::max(one.background, taken);
  }
  for (std::size_t k = 0; k < counts.size(); ++k) {
    CableCount& one = counts[k];
    if (one.medium == LinkMedium::optic) one.optics = 2 * one.count;
    one.power = graph.kinds()[k].power * static_cast<double>(one.count);
    one.price = graph.kinds()[k].price * static_cast<double>(one.count);
  }
  std::erase_if(counts, [](const CableCount& one) { return one.count == 0; });
  return counts;
}

// What the devices in use can send out of their nodes at once: links of their cards that lead to no device and no host;
// where nodes are left without cards, their own and those.
Bandwidth injection_of(const NetworkGraph& graph, const GraphPart& part, bool by_card) {
  const auto kind_of = [&graph](VertexId v) { return graph.group_of(v).kind; };
  Bandwidth cards{0};
  Bandwidth ports{0};
  for (std::size_t i = 0; i < graph.links().size(); ++i) {
    const GraphLink& link = graph.links()[i];
    if (graph.kinds()[link.kind].protocol == LinkProtocol::pcie) continue;
    const auto is_card = [&](VertexId end) { return part.vertices[end] && kind_of(end) == VertexKind::card; };
    const bool is_beside = !by_card && (is_card(link.a) || is_card(link.b));  // no shortest way, but a way
    if (!part.links[i] && !is_beside) continue;
    const Bandwidth rate = graph.kinds()[link.kind].rate * link.width * static_cast<double>(link.health);
    for (const VertexId end : {link.a, link.b}) {
      if (kind_of(end) == VertexKind::card) cards = cards + rate;
      if (kind_of(end) == VertexKind::device) ports = ports + rate;
    }
  }
  return by_card ? cards : ports + cards;
}

// Whether the way out of a node is that of cards: theirs, of a device, add up to it.
bool leaves_by_card(const NetworkGraph& graph, Bandwidth out) {
  std::vector<double> rates(graph.vertex_count());
  for (const GraphLink& link : graph.links()) {
    const LinkKind& kind = graph.kinds()[link.kind];
    if (kind.protocol == LinkProtocol::pcie) continue;
    for (const VertexId end : {link.a, link.b}) rates[end] += kind.payload().value() * link.width;
  }
  std::int64_t devices = 0;
  std::int64_t cards = 0;
  for (const VertexGroup& group : graph.groups()) {
    if (group.kind == VertexKind::device) devices += group.count;
    if (group.kind == VertexKind::card) cards += group.count;
  }
  const auto each = static_cast<double>(std::max<std::int64_t>(cards / std::max<std::int64_t>(devices, 1), 1));
  for (VertexId v = 0; v < graph.vertex_count(); ++v) {
    if (graph.group_of(v).kind != VertexKind::card) continue;
    if (std::abs(rates[v] * each - out.value()) <= 1e-6 * out.value()) return true;
  }
  return false;
}

// Switches that no file gives a radix, and what latencies are missing.
std::vector<std::string> notes_of(const Inspection& found) {
  std::vector<std::string> notes;
  const auto is_tier = [](const std::string& name) {
    return !name.ends_with("nvswitch") && !name.ends_with("pcie switch") && !name.ends_with("gateway");
  };
  for (const VertexCount& one : found.vertices) {
    if (one.kind != VertexKind::network_switch || one.radix > 0 || !is_tier(one.name)) continue;
    notes.push_back(one.name +
                    ": no radix is given, so that its switches have as many ports as their cables need "
                    "(`switch: {radix: 64}` builds it of real ones)");
  }
  bool is_missing = false;
  for (const CableCount& one : found.cables) is_missing = is_missing || one.latency == Time::zero();
  if (is_missing)
    notes.emplace_back(
        "latencies that are not given are part of the library's latency a hop (configs/libraries), and count for "
        "nothing here");
  return notes;
}

std::vector<Reach> reach_of(const Topology& topology, const NetworkGraph& graph, Router& router) {
  if (graph.device_count() < 2) return {};
  const auto hops = hops_to(graph, router, graph.device(0));
  std::map<int, Reach> by_links;
  for (Rank rank = 1; rank < graph.device_count(); ++rank) {
    const int links = hops[graph.device(rank)];
    const Time latency = topology.latency(rank, 0);
    Reach& reach = by_links[links];
    reach.least = reach.devices == 0 ? latency : std::min(reach.least, latency);
    reach.most = std::max(reach.most, latency);
    reach.links = links;
    ++reach.devices;
  }
  std::vector<Reach> found;
  for (const auto& [links, reach] : by_links) found.push_back(reach);
  return found;
}

// With what is down of all that the shortest ways would lead over, were it up.
GraphPart part_in_use(const NetworkGraph& graph, Router& router) {
  GraphPart part = used_part_of(graph, router);
  NetworkGraph sound = graph;
  std::vector<LinkIndex> lost;
  for (LinkIndex i = 0; i < graph.links().size(); ++i) {
    if (graph.links()[i].health > 0) continue;
    lost.push_back(i);
    sound.set_health(i, 1);
  }
  if (lost.empty()) return part;
  sound.finish();
  Router shortest(sound);
  const GraphPart wanted = used_part_of(sound, shortest);
  for (const LinkIndex i : lost) {
    if (!wanted.links[i]) continue;
    part.links[i] = true;
    part.vertices[graph.links()[i].a] = true;
    part.vertices[graph.links()[i].b] = true;
  }
  return part;
}

// Trees answer by formula, of any size; graphs are cut.
void measure_bisection(const Topology& topology, const NetworkGraph& graph, Router& router, Inspection& found) {
  const auto* written = dynamic_cast<const GraphTopology*>(&topology);
  found.half_injection = found.injection / 2;
  if (!found.is_part() && written == nullptr) {
    found.bisection = topology.bisection();
    return;
  }
  const Cut cut = found.is_part() ? bisection_of(graph, router, found.node_size) : written->cut();
  found.bisection = cut.rate;
  found.half_injection = found.injection * (static_cast<double>(cut.smaller) / static_cast<double>(found.devices));
}

}  // namespace

std::string_view name(VertexKind kind) { return name_in(kind); }
std::string_view name(LinkMedium medium) { return name_in(medium); }
std::string_view name(LinkProtocol protocol) { return name_in(protocol); }

std::int64_t Inspection::switches() const {
  std::int64_t sum = 0;
  for (const VertexCount& one : vertices) sum += one.kind == VertexKind::network_switch ? one.chips : 0;
  return sum;
}

std::int64_t Inspection::switches_down() const {
  std::int64_t sum = 0;
  for (const VertexCount& one : vertices)
    sum += one.kind == VertexKind::network_switch ? one.down * one.chips / one.count : 0;
  return sum;
}

std::int64_t Inspection::optics() const {
  std::int64_t sum = 0;
  for (const CableCount& one : cables) sum += one.optics;
  return sum;
}

Power Inspection::power() const {
  Power sum{0};
  for (const VertexCount& one : vertices) sum = sum + one.power;
  for (const CableCount& one : cables) sum = sum + one.power;
  return sum;
}

double Inspection::price() const {
  double sum = 0;
  for (const VertexCount& one : vertices) sum += one.price;
  for (const CableCount& one : cables) sum += one.price;
  return sum;
}

InspectedNetwork inspect_network(const Topology& topology) {
  InspectedNetwork made;
  made.graph = topology.graph();
  const NetworkGraph& graph = made.graph;
  const auto router = topology.router(graph);
  Inspection& found = made.counts;
  found.kind = topology.kind();
  found.devices = topology.device_count();
  found.cluster_size = topology.cluster_size();
  found.node_size = topology.node_size();
  made.part = found.is_part() ? part_in_use(graph, *router) : whole_of(graph);
  found.vertices = count_vertices(graph, made.part);
  made.background = topology.background();
  found.cables = count_cables(graph, made.part, made.background);
  found.port = topology.port();
  found.card = topology.card();
  found.leaves_by_card = leaves_by_card(graph, found.card);
  found.injection = found.is_part() ? injection_of(graph, made.part, found.leaves_by_card) : topology.injection();
  measure_bisection(topology, graph, *router, found);
  found.diameter = found.is_part() ? diameter_of(graph, *router) : topology.diameter();
  found.reach = reach_of(topology, graph, *router);
  found.notes = notes_of(found);
  return made;
}

}  // namespace warploom
