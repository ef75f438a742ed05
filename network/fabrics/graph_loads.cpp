// SPDX-License-Identifier: Apache-2.0
// Routes of flows, summed by link.
#include "network/fabrics/graph_loads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/core/errors.hpp"

namespace warploom {

namespace {

constexpr std::int64_t finer = graph_units_per_flow / units_per_flow;

}  // namespace

void GraphLoads::add(EdgeId edge, std::int64_t units) {
  if (units == 0) return;
  if (units_[edge] == 0) used_.push_back(edge);
  if (__builtin_add_overflow(units_[edge], units, &units_[edge])) {
    throw UserError(fmt::format("the flows of a call over `{}` are more than can be counted", graph_.edge_name(edge)),
                    "use smaller weights");
  }
}

VertexId GraphLoads::device(Rank rank) const {
  if (rank < 0 || rank >= graph_.device_count()) {
    throw UserError(fmt::format("there is no rank {}: the network has {} devices, ranks 0 to {}", rank,
                                graph_.device_count(), graph_.device_count() - 1));
  }
  return graph_.device(rank);
}

void GraphLoads::add_hashed(const ExplicitFlow& flow) {
  const std::int64_t units = flow.units * finer;
  const std::int64_t parts = paths_.queue_pairs;
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t share = units / parts + (part < units % parts ? 1 : 0);
    const FlowKey key{device(flow.from), device(flow.to), static_cast<std::uint32_t>(part)};
    const auto path = router_.hashed_path(key, paths_.seed);
    for (const EdgeId edge : path) add(edge, share);
    if (adaptive_ != nullptr) adaptive_->add(path, static_cast<double>(share));
  }
}

// As the router says, whose ways may be of unequal length; shares to the nearest unit.
void GraphLoads::add_weighted(const ExplicitFlow& flow) {
  const auto units = static_cast<double>(flow.units * finer);
  for (const EdgeShare& part : router_.even_split(device(flow.from), device(flow.to)))
    add(part.edge, std::llround(part.share * units));
}

// Into the switch of the node, or out of it, over all of the device's links there.
void GraphLoads::add_port(const ExplicitFlow& flow) {
  const VertexId at = device(flow.from);
  const auto take = [&](auto&& is_inside) {
    links_.clear();
    for (const EdgeId edge : graph_.out(at)) {
      if (graph_.group_of(graph_.to(edge)).kind == VertexKind::network_switch && is_inside(graph_.kind(edge).protocol))
        links_.push_back(edge);
    }
  };
  take([](LinkProtocol p) { return p == LinkProtocol::nvlink || p == LinkProtocol::unified_bus; });
  if (links_.empty()) take([](LinkProtocol) { return true; });
  if (links_.empty()) {
    throw UserError(fmt::format("`{}` has no switch beside it that reduces or multicasts", graph_.name(at)),
                    "choose an algorithm without in-switch reduction, such as ring");
  }
  const auto count = static_cast<std::int64_t>(links_.size());
  const std::int64_t units = flow.units * finer;
  for (std::int64_t i = 0; i < count; ++i) {
    const EdgeId edge = links_[static_cast<std::size_t>(i)];
    const EdgeId way = flow.at_switch == SwitchEnd::receives ? edge : edge ^ 1U;
    add(way, units / count + (i < units % count ? 1 : 0));
  }
}

// All flows to one destination at once: vertices in the order in which all that comes to them has come.
void GraphLoads::add_split(VertexId to, std::span<const ExplicitFlow> flows) {
  places_.clear();
  order_.clear();
  for (const ExplicitFlow& flow : flows) {
    const VertexId from = device(flow.from);
    const auto [place, is_new] = places_.try_emplace(from);
    place->second.units += flow.units * finer;
    if (is_new) order_.push_back(from);
  }
  for (std::size_t i = 0; i < order_.size(); ++i) {
    router_.next(order_[i], to, links_);
    places_[order_[i]].next = links_;
    for (const EdgeId edge : links_) {
      const auto [place, is_new] = places_.try_emplace(graph_.to(edge));
      ++place->second.ways_in;
      if (is_new) order_.push_back(graph_.to(edge));
    }
  }
  const std::size_t count = order_.size();
  order_.clear();
  for (const ExplicitFlow& flow : flows) {
    const VertexId from = graph_.device(flow.from);
    if (places_[from].ways_in == 0 && (order_.empty() || order_.back() != from)) order_.push_back(from);
  }
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const Place& place = places_[order_[i]];
    const auto ways = static_cast<std::int64_t>(place.next.size());
    for (std::int64_t w = 0; w < ways; ++w) {
      const EdgeId edge = place.next[static_cast<std::size_t>(w)];
      const std::int64_t units = place.units / ways + (w < place.units % ways ? 1 : 0);
      add(edge, units);
      Place& further = places_[graph_.to(edge)];
      further.units += units;
      if (--further.ways_in == 0) order_.push_back(graph_.to(edge));
    }
  }
  if (order_.size() != count)
    throw UserError(fmt::format("the ways to `{}` lead in a circle", graph_.name(to)), "check the routing");
}

std::span<const Share> GraphLoads::of(std::span<const ExplicitFlow> flows) {
  used_.clear();
  sorted_.clear();
  for (const ExplicitFlow& flow : flows) {
    if (flow.at_switch != SwitchEnd::none) {
      add_port(flow);
    } else if (flow.from == flow.to) {
      device(flow.from);
    } else if (paths_.kind == PathChoice::Kind::hashed) {
      add_hashed(flow);
    } else if (!router_.splits_by_hops()) {
      add_weighted(flow);
    } else {
      sorted_.push_back(flow);
    }
  }
  std::ranges::sort(sorted_, {}, [](const ExplicitFlow& flow) { return std::pair(flow.to, flow.from); });
  for (std::size_t first = 0; first < sorted_.size();) {
    std::size_t last = first;
    while (last < sorted_.size() && sorted_[last].to == sorted_[first].to) ++last;
    add_split(device(sorted_[first].to), std::span(sorted_).subspan(first, last - first));
    first = last;
  }
  std::ranges::sort(used_);
  shares_.clear();
  for (const EdgeId edge : used_) {
    shares_.push_back({edge, units_[edge]});
    units_[edge] = 0;
  }
  return shares_;
}

}  // namespace warploom
