// SPDX-License-Identifier: Apache-2.0
// Tables of all switches, destination by destination.
#include "network/graph/static_routing.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/errors.hpp"

namespace warploom {

namespace {

constexpr std::uint32_t no_number = UINT32_MAX;
constexpr EdgeId no_edge = UINT32_MAX;

}  // namespace

StaticRouter::StaticRouter(const NetworkGraph& graph)
    : Router(graph),
      number_of_(graph.vertex_count(), no_number),
      devices_(static_cast<std::size_t>(graph.device_count())) {
  if (devices_ * graph.vertex_count() > most_entries) {
    throw UserError(
        fmt::format("static tables of {} vertices for {} devices are too large", graph.vertex_count(), devices_),
        "use fewer devices, or hashed or spread routing");
  }
  for (std::size_t i = 0; i < devices_; ++i)
    number_of_[graph.device(static_cast<Rank>(i))] = static_cast<std::uint32_t>(i);
  write_tables();
}

void StaticRouter::write_tables() {
  table_.assign(graph().vertex_count() * devices_, no_edge);
  std::vector<std::uint32_t> load(graph().edge_count());
  std::vector<EdgeId> links;
  for (std::size_t i = 0; i < devices_; ++i) {
    const VertexId to = graph().device(static_cast<Rank>(i));
    for (VertexId at = 0; at < graph().vertex_count(); ++at) {
      if (at == to || !reaches(at, to)) continue;
      Router::next(at, to, links);
      const EdgeId least = *std::ranges::min_element(links, {}, [&load](EdgeId edge) { return load[edge]; });
      ++load[least];
      table_[at * devices_ + i] = least;
    }
  }
}

void StaticRouter::next(VertexId at, VertexId to, std::vector<EdgeId>& links) {
  const std::uint32_t number = number_of_[to];
  if (at == to || number == no_number || table_[at * devices_ + number] == no_edge) return Router::next(at, to, links);
  links.assign(1, table_[at * devices_ + number]);
}

}  // namespace warploom
