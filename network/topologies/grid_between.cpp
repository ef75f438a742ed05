// SPDX-License-Identifier: Apache-2.0
// Neighbours along each dimension.
#include "network/topologies/grid_between.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "network/graph/all_path.hpp"
#include "network/graph/dimension_order.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

void GridSpec::check(const GridSpec& spec, const ConfigValue& at, Diagnostics& diagnostics) {
  if (spec.dimensions.empty() || spec.dimensions.size() > 16) {
    diagnostics.error(at.origin(), at.path_of("dimensions"),
                      fmt::format("expected 1 to 16 dimensions, got {}", spec.dimensions.size()));
  }
  double size = 1;
  for (const std::int64_t n : spec.dimensions) size *= static_cast<double>(n);
  if (size > 1e6) {
    diagnostics.error(at.origin(), at.path_of("dimensions"), fmt::format("a grid of {:.3g} ends", size),
                      "at most 1,000,000 can be written out");
  }
  if (spec.links.size() > 1 && spec.links.size() != spec.dimensions.size()) {
    diagnostics.error(at.origin(), at.path_of("links"),
                      fmt::format("{} links for {} dimensions", spec.links.size(), spec.dimensions.size()),
                      "one for all, or one each");
  }
}

std::int64_t GridSpec::size() const {
  std::int64_t size = 1;
  for (const std::int64_t n : dimensions) size *= n;
  return size;
}

const LinkSpec* GridSpec::link(std::size_t dimension) const {
  if (links.empty()) return nullptr;
  return links.size() == 1 ? &links[0] : &links[dimension];
}

std::vector<std::int64_t> GridBetween::neighbours(std::int64_t at, std::size_t dimension) const {
  std::int64_t stride = 1;
  for (std::size_t d = 0; d < dimension; ++d) stride *= spec_.dimensions[d];
  const std::int64_t n = spec_.dimensions[dimension];
  const std::int64_t place = at / stride % n;
  std::vector<std::int64_t> found;
  if (kind_ == GridKind::full_mesh) {
    for (std::int64_t other = place + 1; other < n; ++other) found.push_back(at + (other - place) * stride);
  } else if (place + 1 < n) {
    found.push_back(at + stride);
  } else if (n > 2) {
    found.push_back(at - place * stride);
  }
  return found;
}

void GridBetween::wire(NetworkBuilder& builder, const Ends& ends, const EndCable& cable, const TreeShape& shape) const {
  if (shape.planes != 1) throw UserError("a grid has no planes", "use several cards");
  for (std::size_t d = 0; d < spec_.dimensions.size(); ++d) {
    const LinkSpec* link = spec_.link(d);
    const std::string name = spec_.dimensions.size() > 1 ? fmt::format("{} {}", cable.name, d) : cable.name;
    const std::uint16_t kind = link == nullptr
                                   ? builder.kind(name, cable.rate, cable.efficiency, cable.latency, cable.cable)
                                   : builder.kind(name, link->rate, link->efficiency, link->latency, link->cable);
    for (std::int64_t at = 0; at < ends.nodes; ++at) {
      for (const std::int64_t next : neighbours(at, d)) {
        for (std::int64_t i = 0; i < ends.each; ++i)
          builder.connect(ends.at(at, i), ends.at(next, i), kind, link == nullptr ? 1 : link->links);
      }
    }
  }
}

std::vector<Half> GridBetween::halves() const {
  std::vector<Half> halves;
  std::int64_t stride = 1;
  for (const std::int64_t n : spec_.dimensions) {
    if (n % 2 == 0) {
      Half half(static_cast<std::size_t>(spec_.size()));
      for (std::size_t i = 0; i < half.size(); ++i) half[i] = static_cast<std::int64_t>(i) / stride % n < n / 2;
      halves.push_back(std::move(half));
    }
    stride *= n;
  }
  return halves;
}

std::int64_t GridBetween::links_along(std::size_t dimension) const {
  const std::int64_t n = spec_.dimensions[dimension];
  if (kind_ == GridKind::full_mesh) return n - 1;
  return n > 2 ? 2 : n - 1;
}

Bandwidth GridBetween::rate() const {
  Bandwidth sum{0};
  for (std::size_t d = 0; d < spec_.dimensions.size(); ++d) {
    if (const LinkSpec* link = spec_.link(d)) sum = sum + link->rate * (link->links * links_along(d));
  }
  return sum;
}

Bandwidth GridBetween::payload() const {
  Bandwidth sum{0};
  for (std::size_t d = 0; d < spec_.dimensions.size(); ++d) {
    if (const LinkSpec* link = spec_.link(d))
      sum = sum + link->rate * link->efficiency * (link->links * links_along(d));
  }
  return sum;
}

std::unique_ptr<Router> TorusBetween::router(const NetworkGraph& graph) const {
  return std::make_unique<DimensionOrderRouter>(graph, grid().dimensions);
}

std::unique_ptr<Router> HypercubeBetween::router(const NetworkGraph& graph) const {
  return std::make_unique<DimensionOrderRouter>(graph, grid().dimensions);
}

std::unique_ptr<Router> FullMeshBetween::router(const NetworkGraph& graph) const {
  if (!all_paths_) return nullptr;
  return std::make_unique<AllPathRouter>(graph, 1);
}

}  // namespace warploom
