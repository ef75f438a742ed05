// SPDX-License-Identifier: Apache-2.0
// Vertices, kinds and links, counted.
#include "network/topologies/network_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/core/errors.hpp"

namespace warploom {

void NetworkBuilder::count(std::int64_t elements) {
  elements_ += elements;
  if (elements_ <= most_elements) return;
  throw UserError(fmt::format("a network of more than {} vertices and links cannot be written out", most_elements),
                  "use fewer devices");
}

VertexId NetworkBuilder::add(const std::string& name, VertexKind kind, std::int64_t count_of, bool forwards,
                             const SwitchSpec& what) {
  WARPLOOM_CHECK(count_of >= 0, "{} vertices `{}`", count_of, name);
  count(count_of);
  VertexGroup group;
  group.name = name;
  group.kind = kind;
  group.count = static_cast<std::uint32_t>(count_of);
  group.forwards = forwards;
  group.buffer = what.buffer;
  group.power = what.power;
  group.price = what.price;
  group.radix = what.radix;
  group.chips = what.chips;
  return graph_.add(std::move(group));
}

std::uint16_t NetworkBuilder::kind(const std::string& name, Bandwidth rate, double efficiency, Time latency,
                                   const CableSpec& cable, std::uint16_t cost) {
  LinkKind made;
  made.name = name;
  made.protocol = cable.protocol.value_or(LinkProtocol::infiniband);
  made.medium = cable.medium;
  made.rate = rate;
  made.efficiency = efficiency;
  made.latency = latency;
  made.power = cable.power;
  made.price = cable.price;
  made.cost = cost;
  const auto same = std::ranges::find(graph_.kinds(), made);
  if (same != graph_.kinds().end()) return static_cast<std::uint16_t>(same - graph_.kinds().begin());
  return graph_.add(std::move(made));
}

LinkIndex NetworkBuilder::connect(VertexId a, VertexId b, std::uint16_t kind, std::int64_t width) {
  count(1);
  WARPLOOM_CHECK(width >= 1 && width <= UINT16_MAX, "a link of {} cables", width);
  return graph_.connect(a, b, kind, static_cast<std::uint16_t>(width));
}

NetworkGraph NetworkBuilder::finish() {
  graph_.finish();
  return std::move(graph_);
}

}  // namespace warploom
