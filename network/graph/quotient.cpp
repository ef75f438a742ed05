// SPDX-License-Identifier: Apache-2.0
// Colour refinement by hashes of neighbourhoods.
#include "network/graph/quotient.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "network/graph/background.hpp"
#include "network/graph/mix.hpp"

namespace warploom {

namespace {

// Numbers in the order of first appearance; returns how many.
std::size_t number(const std::vector<std::uint64_t>& hashes, std::vector<std::uint32_t>& colors) {
  std::unordered_map<std::uint64_t, std::uint32_t> known;
  colors.resize(hashes.size());
  for (std::size_t v = 0; v < hashes.size(); ++v)
    colors[v] = known.try_emplace(hashes[v], static_cast<std::uint32_t>(known.size())).first->second;
  return known.size();
}

// What is no part of it is of any class.
std::vector<std::uint32_t> refine(const NetworkGraph& graph, const GraphPart& part,
                                  const std::vector<double>& background, bool from_device) {
  std::vector<std::uint64_t> hashes(graph.vertex_count());
  std::uint64_t group_number = 1;
  for (const VertexGroup& group : graph.groups()) {
    for (VertexId i = 0; i < group.count; ++i) hashes[group.first + i] = group_number;
    ++group_number;
  }
  if (from_device && graph.device_count() > 0) hashes[graph.device(0)] = 0;
  std::vector<std::uint32_t> colors;
  for (std::size_t count = number(hashes, colors);;) {
    for (std::size_t v = 0; v < hashes.size(); ++v) hashes[v] = mix(colors[v] + 0x9E3779B97F4A7C15ULL);
    for (std::size_t i = 0; i < graph.links().size(); ++i) {
      if (!part.links[i]) continue;
      const GraphLink& link = graph.links()[i];
      const auto health = static_cast<std::uint64_t>(static_cast<double>(link.health) * 1e6);
      const auto taken = static_cast<std::uint64_t>(taken_of(background, i) * 1e6);
      const std::uint64_t what =
          mix((std::uint64_t{link.kind} << 48 | std::uint64_t{link.width} << 24) + health + 1 + mix(taken));
      // Sums do not depend on the order of the links.
      hashes[link.a] += mix(what + mix(colors[link.b] + 7));
      hashes[link.b] += mix(what + mix(colors[link.a] + 7));
    }
    const std::size_t next = number(hashes, colors);
    if (next == count) return colors;
    count = next;
  }
}

Quotient join(const NetworkGraph& graph, const GraphPart& part, const std::vector<double>& background,
              const std::vector<std::uint32_t>& colors) {
  Quotient made;
  std::unordered_map<std::uint32_t, std::size_t> classes;
  for (VertexId v = 0; v < colors.size(); ++v) {
    if (!part.vertices[v]) continue;
    const auto [place, is_new] = classes.try_emplace(colors[v], made.vertices.size());
    if (is_new) made.vertices.push_back({v, 0});
    ++made.vertices[place->second].count;
  }
  std::map<std::tuple<std::size_t, std::size_t, std::uint16_t, float, double>, QuotientLink> links;
  for (std::size_t i = 0; i < graph.links().size(); ++i) {
    if (!part.links[i]) continue;
    const GraphLink& link = graph.links()[i];
    const auto [a, b] = std::minmax(classes.at(colors[link.a]), classes.at(colors[link.b]));
    QuotientLink& one = links[{a, b, link.kind, link.health, taken_of(background, i)}];
    one.a = a;
    one.b = b;
    one.kind = link.kind;
    one.count += link.width;
    one.health = static_cast<double>(link.health);
    one.background = taken_of(background, i);
  }
  for (const auto& [key, link] : links) made.links.push_back(link);
  return made;
}

}  // namespace

Quotient quotient_of(const NetworkGraph& graph, const GraphPart& part, std::size_t whole, std::size_t most,
                     const std::vector<double>& background) {
  const auto count = static_cast<std::size_t>(std::ranges::count(part.vertices, true));
  if (count <= whole) {
    std::vector<std::uint32_t> colors(graph.vertex_count());
    std::iota(colors.begin(), colors.end(), 0U);
    Quotient made = join(graph, part, background, colors);
    made.is_whole = true;
    return made;
  }
  Quotient made = join(graph, part, background, refine(graph, part, background, true));
  if (made.vertices.size() <= most) return made;
  made = join(graph, part, background, refine(graph, part, background, false));
  made.is_from_device = false;
  return made;
}

}  // namespace warploom
