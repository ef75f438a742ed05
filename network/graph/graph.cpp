// SPDX-License-Identifier: Apache-2.0
// Vertices and links, and who is beside whom.
#include "network/graph/graph.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/errors.hpp"

namespace warploom {

VertexId NetworkGraph::add(VertexGroup group) {
  group.first = static_cast<VertexId>(vertex_count_);
  vertex_count_ += group.count;
  groups_.push_back(std::move(group));
  return groups_.back().first;
}

std::uint16_t NetworkGraph::add(LinkKind kind) {
  kinds_.push_back(std::move(kind));
  return static_cast<std::uint16_t>(kinds_.size() - 1);
}

LinkIndex NetworkGraph::connect(VertexId a, VertexId b, std::uint16_t kind, std::uint16_t width) {
  WARPLOOM_CHECK(a < vertex_count_ && b < vertex_count_ && kind < kinds_.size(), "a link {} - {} of kind {}", a, b,
                 kind);
  if (a == b) throw UserError(fmt::format("a link from `{}` to itself", name(a)), "a link joins two different ends");
  links_.push_back({a, b, kind, width, 1.0F});
  return static_cast<LinkIndex>(links_.size() - 1);
}

void NetworkGraph::set_health(LinkIndex link, double health) {
  WARPLOOM_CHECK(link < links_.size() && health >= 0 && health <= 1, "health {} of link {}", health, link);
  links_[link].health = static_cast<float>(health);
}

void NetworkGraph::set_devices(std::vector<VertexId> devices) { devices_ = std::move(devices); }

void NetworkGraph::finish() {
  if (devices_.empty()) {
    for (const VertexGroup& group : groups_) {
      if (group.kind != VertexKind::device) continue;
      for (VertexId i = 0; i < group.count; ++i) devices_.push_back(group.first + i);
    }
  }
  first_out_.assign(vertex_count_ + 1, 0);
  for (const GraphLink& link : links_) {
    if (kinds_[link.kind].payload().value() <= 0 || link.width == 0) {
      throw UserError(fmt::format("the link `{}` from `{}` to `{}` has no rate", kinds_[link.kind].name, name(link.a),
                                  name(link.b)),
                      "give it a rate such as `400 Gb/s`");
    }
    if (link.health <= 0) continue;
    ++first_out_[link.a + 1];
    ++first_out_[link.b + 1];
  }
  for (std::size_t i = 1; i < first_out_.size(); ++i) first_out_[i] += first_out_[i - 1];
  out_.resize(first_out_.back());
  std::vector<std::uint32_t> at(first_out_.begin(), first_out_.end() - 1);
  for (EdgeId edge = 0; edge < edge_count(); ++edge) {
    if (link(edge).health > 0) out_[at[from(edge)]++] = edge;
  }
  for (const VertexId device : devices_) {
    if (devices_.size() > 1 && out(device).empty()) {
      throw UserError(fmt::format("no link reaches `{}`", name(device)), "every device needs a link that is up");
    }
  }
}

const VertexGroup& NetworkGraph::group_of(VertexId vertex) const {
  const auto after = std::ranges::upper_bound(groups_, vertex, {}, &VertexGroup::first);
  WARPLOOM_CHECK(after != groups_.begin() && vertex < vertex_count_, "no vertex {}", vertex);
  return *std::prev(after);
}

std::string NetworkGraph::name(VertexId vertex) const {
  const VertexGroup& group = group_of(vertex);
  return fmt::format("{} {}", group.name, vertex - group.first);
}

std::string NetworkGraph::edge_name(EdgeId edge) const {
  return fmt::format("{} -> {}", name(from(edge)), name(to(edge)));
}

VertexId NetworkGraph::nvlink_switch(VertexId vertex) const {
  for (const EdgeId edge : out(vertex)) {
    if (kind(edge).protocol == LinkProtocol::nvlink && group_of(to(edge)).kind == VertexKind::network_switch)
      return to(edge);
  }
  return no_vertex;
}

std::span<const EdgeId> NetworkGraph::out(VertexId vertex) const {
  return {out_.data() + first_out_[vertex], first_out_[vertex + 1] - first_out_[vertex]};
}

}  // namespace warploom
