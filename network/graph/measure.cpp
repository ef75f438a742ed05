// SPDX-License-Identifier: Apache-2.0
// Searches from devices; maximum flow by Boost.Graph.
#include "network/graph/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <map>
#include <numeric>
#include <utility>

#include "sim/core/errors.hpp"

// GCC 12 takes the iterators of an empty boost::optional for used.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>

namespace warploom {

namespace {

constexpr std::size_t most_steps = 40'000'000;

// As many devices as there is time to search from.
std::vector<Rank> sources_of(const NetworkGraph& graph, std::int64_t devices) {
  const std::size_t a_search = graph.vertex_count() + graph.edge_count() + 1;
  const auto most = static_cast<std::int64_t>(std::clamp<std::size_t>(most_steps / a_search, 4, 1024));
  const std::int64_t count = std::min(devices, most);
  std::vector<Rank> ranks;
  for (std::int64_t i = 0; i < count; ++i) ranks.push_back(i * devices / count);
  return ranks;
}

bool counts(const NetworkGraph& graph, EdgeId edge) {
  const auto kind = [&graph](VertexId v) { return graph.group_of(v).kind; };
  const VertexKind a = kind(graph.from(edge));
  const VertexKind b = kind(graph.to(edge));
  const bool is_card_side = a == VertexKind::card || b == VertexKind::card;
  return !(is_card_side && graph.kind(edge).protocol == LinkProtocol::pcie);
}

}  // namespace

void require_connected(const NetworkGraph& graph, Router& router, std::int64_t devices) {
  if (devices < 2) return;
  for (const Rank to : sources_of(graph, devices)) {
    std::string lost;
    std::int64_t count = 0;
    for (Rank from = 0; from < devices; ++from) {
      if (router.reaches(graph.device(from), graph.device(to))) continue;
      if (++count <= 8) lost += fmt::format("{}`{}`", lost.empty() ? "" : ", ", graph.name(graph.device(from)));
    }
    if (count == 0) continue;
    throw UserError(fmt::format("no way leads to `{}` from {}{}", graph.name(graph.device(to)), lost,
                                count > 8 ? fmt::format(" and {} more", count - 8) : ""),
                    "join them by links that are up");
  }
}

std::vector<int> hops_to(const NetworkGraph& graph, Router& router, VertexId to) {
  std::vector<VertexId> order;
  for (VertexId v = 0; v < graph.vertex_count(); ++v) {
    if (router.reaches(v, to)) order.push_back(v);
  }
  std::ranges::sort(order, {}, [&](VertexId v) { return router.distance(v, to); });
  std::vector<int> hops(graph.vertex_count(), INT_MAX);
  hops[to] = 0;
  for (const VertexId at : order) {
    if (hops[at] == INT_MAX) continue;
    for (const EdgeId edge : graph.out(at)) {
      const VertexId before = graph.to(edge);
      if (!router.reaches(before, to)) continue;
      // The way back over the same link.
      if (router.distance(before, to) != router.distance(at, to) + router.step_cost(edge ^ 1U, to)) continue;
      hops[before] = std::min(hops[before], hops[at] + (counts(graph, edge) ? 1 : 0));
    }
  }
  return hops;
}

int diameter_of(const NetworkGraph& graph, Router& router) {
  int longest = 0;
  for (const Rank source : sources_of(graph, graph.device_count())) {
    const auto hops = hops_to(graph, router, graph.device(source));
    for (Rank from = 0; from < graph.device_count(); ++from) {
      if (hops[graph.device(from)] != INT_MAX) longest = std::max(longest, hops[graph.device(from)]);
    }
  }
  return longest;
}

Bandwidth flow_between(const NetworkGraph& graph, const Half& half) {
  using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
  using Edge = Traits::edge_descriptor;
  using Flow = boost::adjacency_list<
      boost::vecS, boost::vecS, boost::directedS,
      boost::property<boost::vertex_index_t, std::size_t,
                      boost::property<boost::vertex_color_t, boost::default_color_type,
                                      boost::property<boost::vertex_distance_t, long,
                                                      boost::property<boost::vertex_predecessor_t, Edge>>>>,
      boost::property<
          boost::edge_capacity_t, double,
          boost::property<boost::edge_residual_capacity_t, double, boost::property<boost::edge_reverse_t, Edge>>>>;
  Flow flow(graph.vertex_count() + 2);
  auto capacity = boost::get(boost::edge_capacity, flow);
  auto reverse = boost::get(boost::edge_reverse, flow);
  const auto add = [&](std::size_t a, std::size_t b, double there, double back) {
    const Edge out = boost::add_edge(a, b, flow).first;
    const Edge in = boost::add_edge(b, a, flow).first;
    capacity[out] = there;
    capacity[in] = back;
    reverse[out] = in;
    reverse[in] = out;
  };
  // Parallel cables as one.
  std::map<std::pair<VertexId, VertexId>, double> joined;
  double all = 0;
  for (const GraphLink& link : graph.links()) {
    const double rate = graph.kinds()[link.kind].rate.value() * link.width * static_cast<double>(link.health);
    joined[std::minmax(link.a, link.b)] += rate;
    all += rate;
  }
  for (const auto& [ends, rate] : joined) {
    if (rate > 0) add(ends.first, ends.second, rate, rate);
  }
  const std::size_t source = graph.vertex_count();
  const std::size_t sink = source + 1;
  for (Rank rank = 0; rank < graph.device_count(); ++rank) {
    if (half[static_cast<std::size_t>(rank)]) {
      add(source, graph.device(rank), all, 0);
    } else {
      add(graph.device(rank), sink, all, 0);
    }
  }
  return Bandwidth(boost::boykov_kolmogorov_max_flow(flow, source, sink));
}

#pragma GCC diagnostic pop

namespace {

// Devices of each node, in the order of `nodes`; one that is not full goes last, into the larger half.
std::vector<std::size_t> devices_of(std::vector<std::size_t> nodes, std::size_t node_size, std::size_t count) {
  std::ranges::stable_partition(nodes, [&](std::size_t node) { return (node + 1) * node_size <= count; });
  std::vector<std::size_t> devices;
  for (const std::size_t node : nodes) {
    for (std::size_t i = node * node_size; i < std::min((node + 1) * node_size, count); ++i) devices.push_back(i);
  }
  return devices;
}

}  // namespace

Cut bisection_of(const NetworkGraph& graph, Router& router, std::int64_t node_size, const std::vector<Half>& halves) {
  const auto count = static_cast<std::size_t>(graph.device_count());
  if (count < 2) return {};
  // A single node is cut between its devices.
  const auto given = static_cast<std::size_t>(std::max<std::int64_t>(node_size, 1));
  const std::size_t size = given >= count ? 1 : given;
  const std::size_t nodes = (count + size - 1) / size;
  std::vector<Half> candidates = halves;
  const auto add_order = [&](const std::vector<std::size_t>& order) {
    const std::vector<std::size_t> devices = devices_of(order, size, count);
    // Both ways to cut an odd number.
    for (const std::size_t first : {nodes / 2, count % size == 0 ? nodes - nodes / 2 : nodes / 2}) {
      Half half(count, false);
      for (std::size_t i = 0; i < first * size; ++i) half[devices[i]] = true;
      if (candidates.empty() || candidates.back() != half) candidates.push_back(std::move(half));
    }
  };
  std::vector<std::size_t> order(nodes);
  std::iota(order.begin(), order.end(), 0U);
  add_order(order);
  // The nearest half of the first node, of the one farthest from it, and of the one farthest from that.
  if (halves.empty()) {
    std::size_t start = 0;
    for (int turn = 0; turn < 3; ++turn) {
      const VertexId to = graph.device(static_cast<Rank>(start * size));
      std::vector<std::size_t> near = order;
      const auto far = [&](std::size_t node) {
        return router.distance(graph.device(static_cast<Rank>(node * size)), to);
      };
      std::ranges::stable_sort(near, {}, far);
      add_order(near);
      start = near.back();
    }
  }
  Cut least;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Bandwidth flow = flow_between(graph, candidates[i]);
    if (i > 0 && flow >= least.rate) continue;
    const std::int64_t inside = std::ranges::count(candidates[i], true);
    least = {flow, std::min(inside, graph.device_count() - inside)};
  }
  return least;
}

}  // namespace warploom
