// SPDX-License-Identifier: Apache-2.0
// Numbers of destinations; a table's column at a time.
#include "network/graph/static_routing.hpp"

#include <algorithm>
#include <utility>

#include "sim/core/errors.hpp"

namespace warploom {

namespace {

constexpr std::uint32_t no_number = UINT32_MAX;
constexpr std::size_t most_remembered = std::size_t{64} << 20;  // bytes of columns
constexpr std::uint64_t most_product = std::uint64_t{1} << 32;  // above all numbers

// Switches of a fabric, not of a node's inside.
bool is_fabric(const NetworkGraph& graph, EdgeId edge) {
  const LinkProtocol protocol = graph.kind(edge).protocol;
  return protocol != LinkProtocol::pcie && protocol != LinkProtocol::nvlink &&
         graph.group_of(graph.to(edge)).kind == VertexKind::network_switch;
}

}  // namespace

StaticRouter::StaticRouter(const NetworkGraph& graph)
    : Router(graph), number_of_(graph.vertex_count(), no_number), links_to_(graph.vertex_count(), 0) {
  number_destinations();
}

// The first switch of the fabric that a device meets; itself where there is none nearby.
VertexId StaticRouter::attachment_of(VertexId device) {
  ++search_;
  std::vector<VertexId> queue{device};
  seen_[device] = search_;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const VertexId at = queue[i];
    for (const EdgeId edge : graph().out(at)) {
      if (is_fabric(graph(), edge)) return graph().to(edge);
    }
    // Its own card before those of its neighbours: over cards, hosts and PCIe only.
    for (const EdgeId edge : graph().out(at)) {
      const VertexId next = graph().to(edge);
      if (graph().kind(edge).protocol != LinkProtocol::pcie || seen_[next] == search_) continue;
      if (graph().group_of(next).kind == VertexKind::device) continue;
      seen_[next] = search_;
      queue.push_back(next);
    }
  }
  for (const EdgeId edge : graph().out(device)) {
    if (graph().group_of(graph().to(edge)).kind == VertexKind::network_switch) return graph().to(edge);
  }
  return device;
}

void StaticRouter::number_destinations() {
  seen_.assign(graph().vertex_count(), 0);
  std::vector<std::pair<VertexId, VertexId>> places;
  for (const VertexGroup& group : graph().groups()) {
    if (group.kind != VertexKind::device) continue;
    for (VertexId i = 0; i < group.count; ++i) places.emplace_back(attachment_of(group.first + i), group.first + i);
  }
  std::ranges::sort(places);
  attachment_.assign(graph().vertex_count(), no_vertex);
  for (std::size_t q = 0; q < places.size(); ++q) {
    number_of_[places[q].second] = static_cast<std::uint32_t>(q);
    attachment_[places[q].second] = places[q].first;
  }
  seen_ = {};
}

std::uint8_t StaticRouter::product_id(std::uint64_t product) {
  const auto known = std::ranges::find(products_, product);
  if (known != products_.end()) return static_cast<std::uint8_t>(known - products_.begin());
  if (products_.size() > UINT8_MAX) return 0;
  products_.push_back(product);
  return static_cast<std::uint8_t>(products_.size() - 1);
}

void StaticRouter::count_targets(const std::vector<EdgeId>& links) {
  targets_.clear();
  for (const EdgeId edge : links) {
    if (links_to_[graph().to(edge)]++ == 0) targets_.push_back(graph().to(edge));
  }
}

// Round the next vertices: the first cable to each, then the second to each that has one, and so on.
void StaticRouter::choose(std::uint64_t number, std::vector<EdgeId>& links) {
  if (links.size() < 2) return;
  count_targets(links);
  std::uint64_t left = number % links.size();
  std::uint32_t round = 0;
  const auto has_cable = [&](VertexId target) { return links_to_[target] > round; };
  std::uint64_t width = targets_.size();
  while (left >= width) {
    left -= width;
    ++round;
    width = static_cast<std::uint64_t>(std::ranges::count_if(targets_, has_cable));
  }
  VertexId chosen = no_vertex;
  for (const VertexId target : targets_) {
    if (!has_cable(target)) continue;
    chosen = target;
    if (left-- == 0) break;
  }
  for (const VertexId target : targets_) links_to_[target] = 0;
  std::uint32_t cable = 0;
  for (const EdgeId edge : links) {
    if (graph().to(edge) != chosen || cable++ != round) continue;
    links.assign(1, edge);
    break;
  }
}

const StaticRouter::Column& StaticRouter::column(VertexId to) {
  const VertexId attachment = attachment_[to];
  if (const auto known = columns_.find(attachment); known != columns_.end()) return known->second;
  if ((columns_.size() + 1) * graph().vertex_count() > most_remembered) columns_.clear();
  // Farthest first, so that all that comes to a vertex has been chosen before.
  const auto& distance = distances(to);
  for (auto& ring : rings_) ring.clear();
  for (VertexId v = 0; v < graph().vertex_count(); ++v) {
    if (v == to || distance[v] == unreached) continue;
    if (distance[v] >= rings_.size()) rings_.resize(distance[v] + std::size_t{1});
    rings_[distance[v]].push_back(v);
  }
  constexpr std::uint64_t nothing_comes = UINT64_MAX;
  std::vector<std::uint64_t> product(graph().vertex_count(), nothing_comes);
  for (const VertexGroup& group : graph().groups()) {
    if (group.kind == VertexKind::device) std::fill_n(product.begin() + group.first, group.count, 1);
  }
  Column& made = columns_[attachment];
  made.assign(graph().vertex_count(), 0);
  std::vector<EdgeId> links;
  for (auto ring = rings_.rbegin(); ring != rings_.rend(); ++ring) {
    for (const VertexId at : *ring) {
      if (product[at] == nothing_comes) continue;
      made[at] = product_id(product[at]);
      Router::next(at, to, links);
      count_targets(links);
      for (const VertexId target : targets_) {
        product[target] = std::min({product[target], product[at] * targets_.size(), most_product});
        links_to_[target] = 0;
      }
    }
  }
  return made;
}

void StaticRouter::next(VertexId at, VertexId to, std::vector<EdgeId>& links) {
  Router::next(at, to, links);
  if (links.size() < 2 || number_of_[to] == no_number) return;
  choose(number_of_[to] / products_[column(to)[at]], links);
}

}  // namespace warploom
