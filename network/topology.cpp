// SPDX-License-Identifier: Apache-2.0
// Address arithmetic of tiers, and what all topologies share.
#include "network/topology.hpp"

#include <fmt/format.h>

#include "network/graph/routing.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

void Route::add(LinkId link) {
  WARPLOOM_CHECK(count_ < max_links, "a route of more than {} links", max_links);
  links_[count_++] = link;
}

Time TieredTopology::latency(Rank from, Rank to) const {
  Time sum = Time::zero();
  for (const LinkId& link : route(from, to)) sum += tiers()[static_cast<std::size_t>(link.tier)].latency;
  return sum;
}

double TieredTopology::cards_of_node() const {
  if (tiers().size() < 2) return 0;
  return static_cast<double>(node_size()) / static_cast<double>(tiers()[1].span);
}

std::int64_t TieredTopology::link_index(int tier, Rank device) const {
  const LinkTier& links = tiers()[static_cast<std::size_t>(tier)];
  const std::int64_t unit = device / links.span;
  if (links.lanes == 1) return unit;
  return unit * links.lanes + (device % node_size()) * links.lanes / node_size();
}

int TieredTopology::meeting_tier(Rank a, Rank b) const {
  if (same_node(a, b)) return 1;
  const int count = static_cast<int>(tiers().size());
  int tier = 2;
  while (tier < count && link_index(tier, a) != link_index(tier, b)) ++tier;
  return tier;
}

std::unique_ptr<Router> Topology::router(const NetworkGraph& graph) const { return std::make_unique<Router>(graph); }

void Topology::require_rank(Rank rank) const {
  if (rank >= 0 && rank < device_count()) return;
  throw UserError(fmt::format("there is no rank {}: the job uses {} devices, ranks 0 to {}", rank, device_count(),
                              device_count() - 1));
}

}  // namespace warploom
