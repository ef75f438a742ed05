// SPDX-License-Identifier: Apache-2.0
// Counts by group and kind; one search from device 0.
#include "network/inspection.hpp"

#include <algorithm>
#include <map>

#include "network/graph/measure.hpp"
#include "network/graph/routing.hpp"
#include "network/topologies/free_graph.hpp"
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

std::vector<VertexCount> count_vertices(const NetworkGraph& graph) {
  std::vector<std::int64_t> ports(graph.vertex_count());
  for (const GraphLink& link : graph.links()) {
    ports[link.a] += link.width;
    ports[link.b] += link.width;
  }
  std::vector<VertexCount> counts;
  for (const VertexGroup& group : graph.groups()) {
    if (group.count == 0) continue;
    VertexCount one;
    one.name = group.name;
    one.kind = group.kind;
    one.count = group.count;
    one.chips = std::int64_t{group.count} * group.chips;
    const auto first = ports.begin() + group.first;
    one.least_ports = *std::min_element(first, first + group.count);
    one.most_ports = *std::max_element(first, first + group.count);
    one.radix = group.radix * group.chips;
    one.power = group.power * static_cast<double>(one.chips);
    one.price = group.price * static_cast<double>(one.chips);
    counts.push_back(std::move(one));
  }
  return counts;
}

std::vector<CableCount> count_cables(const NetworkGraph& graph) {
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
  for (const GraphLink& link : graph.links()) {
    counts[link.kind].count += link.width;
    if (link.health <= 0) counts[link.kind].down += link.width;
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

}  // namespace

std::string_view name(VertexKind kind) { return name_in(kind); }
std::string_view name(LinkMedium medium) { return name_in(medium); }
std::string_view name(LinkProtocol protocol) { return name_in(protocol); }

std::int64_t Inspection::switches() const {
  std::int64_t sum = 0;
  for (const VertexCount& one : vertices) sum += one.kind == VertexKind::network_switch ? one.chips : 0;
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

Inspection inspect(const Topology& topology) {
  const NetworkGraph graph = topology.graph();
  const auto router = topology.router(graph);
  Inspection found;
  found.kind = topology.kind();
  found.devices = topology.device_count();
  found.cluster_size = topology.cluster_size();
  found.node_size = topology.node_size();
  found.vertices = count_vertices(graph);
  found.cables = count_cables(graph);
  found.port = topology.port();
  found.card = topology.card();
  found.injection = topology.injection();
  found.bisection = topology.bisection();
  found.diameter = topology.diameter();
  found.reach = reach_of(topology, graph, *router);
  return found;
}

}  // namespace warploom
