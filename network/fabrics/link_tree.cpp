// SPDX-License-Identifier: Apache-2.0
// Building the folded tree: cutting flow ends into ranges, counting what crosses a unit's uplinks.
#include "network/fabrics/link_tree.hpp"

#include <algorithm>
#include <bit>

#include "sim/core/errors.hpp"

namespace warploom {

namespace {

// The ranges of a size that the same flow ends cross alike.
std::vector<std::int64_t> signature(std::int64_t stage, std::int64_t size, const std::vector<FlowEnd>& ends) {
  std::vector<std::int64_t> key;
  key.reserve(2 + ends.size() * 7);
  key.push_back(stage);
  key.push_back(size);
  for (const auto& end : ends) {
    const auto digits = end.ranks.digits();
    key.push_back(static_cast<std::int64_t>(end.variable) << 8 | static_cast<std::int64_t>(digits.size()) << 2 |
                  (end.direction == Direction::down ? 2 : 0) | (end.port_only ? 1 : 0));
    key.push_back(end.units);
    key.push_back(end.peer);
    key.push_back(end.ranks.base);
    for (const auto& digit : digits) {
      key.push_back(digit.count);
      key.push_back(digit.stride);
    }
  }
  return key;
}

// Adds to `counts[r]` how many ranks of the box are r modulo its size.
void count_residues(const Box& box, std::vector<std::int64_t>& counts, std::vector<std::int64_t>& scratch) {
  const auto modulus = static_cast<std::int64_t>(counts.size());
  std::int64_t times = 1;
  bool is_single = true;
  for (const auto& digit : box.digits()) {
    if (digit.stride % modulus == 0) {
      times *= digit.count;
    } else {
      is_single = false;
    }
  }
  const auto place = [modulus](std::int64_t rank) {
    return static_cast<std::size_t>((rank % modulus + modulus) % modulus);
  };
  if (is_single) {
    counts[place(box.base)] += times;
    return;
  }
  std::vector<std::int64_t> now(counts.size(), 0);
  now[place(box.base)] = times;
  for (const auto& digit : box.digits()) {
    if (digit.stride % modulus == 0) continue;
    scratch.assign(counts.size(), 0);
    for (std::size_t r = 0; r < now.size(); ++r) {
      if (now[r] == 0) continue;
      const std::int64_t turns =
          digit.count / modulus;  // of `modulus` steps, each of which meets every residue it can alike
      for (std::int64_t x = 0; x < std::min(digit.count, modulus); ++x) {
        const std::int64_t visits = turns + (x < digit.count % modulus ? 1 : 0);
        scratch[place(static_cast<std::int64_t>(r) + x * digit.stride)] += now[r] * visits;
      }
    }
    now.swap(scratch);
  }
  for (std::size_t r = 0; r < now.size(); ++r) counts[r] += now[r];
}

}  // namespace

std::size_t LinkTree::KeyHash::operator()(const std::vector<std::int64_t>& key) const {
  std::uint64_t hash = key.size();
  for (const auto value : key) {
    hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 29;
  }
  return hash;
}

LinkTree::LinkTree(const TieredTopology& topology)
    : topology_(topology), tiers_(topology.tiers()), node_size_(topology.node_size()) {}

void LinkTree::build(const std::vector<FlowEnd>& ends) {
  vertices_.clear();
  links_.clear();
  classes_.clear();
  class_ids_.clear();
  known_.clear();
  uniform_ = true;
  root_ = outside(topology_.device_count(), next_tier(static_cast<int>(tiers_.size())), ends);
}

// The next tier of switches below that shapes rates; 1: none.
int LinkTree::next_tier(int tier) const {
  do {
    --tier;
  } while (tier > 1 && !tiers_[static_cast<std::size_t>(tier)].can_bind);
  return std::max(tier, 1);
}

// Cuts a range between two units, the left part a power of two of them, so that equal halves are found.
template <class Build>
std::uint32_t LinkTree::cut(std::int64_t size, std::int64_t span, const Ends& ends, Build&& build) {
  const auto units = static_cast<std::uint64_t>((size + span - 1) / span);
  const std::int64_t left_size = static_cast<std::int64_t>(std::bit_floor(units - 1)) * span;
  Ends part;
  const auto take_part = [&](std::int64_t low, std::int64_t high) {
    part.clear();
    for (const auto& end : ends) {
      end.ranks.clip(low, high, [&](const Box& box) {
        part.push_back(end);
        part.back().ranks = box.shifted(-low);
      });
    }
  };
  Vertex vertex;
  vertex.left_size = left_size;
  take_part(0, left_size);
  vertex.left = build(left_size, part);
  take_part(left_size, size);
  vertex.right = build(size - left_size, part);
  vertices_.push_back(vertex);
  return static_cast<std::uint32_t>(vertices_.size() - 1);
}

// A range of nodes in which the units of `tier` are to be found (tier 1: nodes).
std::uint32_t LinkTree::outside(std::int64_t size, int tier, const Ends& ends) {
  auto key = signature(tier, size, ends);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  const std::int64_t span = tier >= 2 ? tiers_[static_cast<std::size_t>(tier)].span : node_size_;
  std::uint32_t id = 0;
  if (size > span) {
    id = cut(size, span, ends, [&](std::int64_t part, const Ends& inner) { return outside(part, tier, inner); });
  } else if (tier >= 2) {
    const LinkTier& links = tiers_[static_cast<std::size_t>(tier)];
    for (auto& direction : lanes_) direction.assign(static_cast<std::size_t>(links.lanes), {});
    for (const auto& end : ends) {
      if (!end.port_only) add_usage(end, size, links);
    }
    id = add_unit(tier, links.lanes);
    const std::uint32_t child = outside(size, next_tier(tier), ends);
    vertices_[id].left = child;
  } else {
    vertices_.push_back({size, 0, 0, -2, 0});
    id = static_cast<std::uint32_t>(vertices_.size() - 1);
    const std::uint32_t child = inside(size, tiers_.size() > 1 ? 1 : 0, resolve_node(size, ends));
    vertices_[id].left = child;
    uniform_ = uniform_ && is_uniform(child, size);
  }
  known_.emplace(std::move(key), id);
  return id;
}

// A range inside a node, down to its units of `tier`: shares of a card, then devices. `peer` no longer matters.
std::uint32_t LinkTree::inside(std::int64_t size, int tier, const Ends& ends) {
  auto key = signature(-1 - tier, size, ends);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  const std::int64_t span = tiers_[static_cast<std::size_t>(tier)].span;
  std::uint32_t id = 0;
  if (size > span) {
    id = cut(size, span, ends, [&](std::int64_t part, const Ends& inner) { return inside(part, tier, inner); });
  } else {
    for (auto& direction : lanes_) direction.assign(1, {});
    for (const auto& end : ends) {
      if (end.port_only != (tier == 0)) continue;
      lanes_[static_cast<std::size_t>(end.direction)][0].push_back({end.variable, end.units * end.ranks.size()});
    }
    id = add_unit(tier, 1);
    if (tier == 1) {
      const std::uint32_t child = inside(size, 0, ends);
      vertices_[id].left = child;
    }
  }
  known_.emplace(std::move(key), id);
  return id;
}

// Flows that stay in the node use the ports, the others the cards: `port_only` says which.
LinkTree::Ends LinkTree::resolve_node(std::int64_t size, const Ends& ends) const {
  Ends resolved;
  for (const auto& end : ends) {
    if (end.port_only) {
      resolved.push_back(end);
      continue;
    }
    const auto take = [&](bool stays) {
      return [&resolved, &end, stays](const Box& box) {
        resolved.push_back(end);
        resolved.back().port_only = stays;
        resolved.back().peer = 0;
        resolved.back().ranks = box;
      };
    };
    const std::int64_t low = std::clamp<std::int64_t>(-end.peer, 0, size);
    const std::int64_t high = std::clamp<std::int64_t>(size - end.peer, low, size);
    end.ranks.clip(low, high, take(true));
    end.ranks.clip(0, low, take(false));
    end.ranks.clip(high, size, take(false));
  }
  return resolved;
}

// What the flow ends of a range of one unit send through its uplinks: those whose peer hangs on another switch.
void LinkTree::add_usage(const FlowEnd& end, std::int64_t size, const LinkTier& tier) {
  auto& lanes = lanes_[static_cast<std::size_t>(end.direction)];
  const auto add = [&](std::int64_t lane, std::int64_t flows) {
    if (flows > 0) lanes[static_cast<std::size_t>(lane)].push_back({end.variable, flows * end.units});
  };
  const std::int64_t low = -end.peer;
  const std::int64_t high = size - end.peer;
  const bool leaves_node = end.peer % node_size_ == 0 || end.peer <= -node_size_ || end.peer >= node_size_;
  if (tier.lanes == 1 && leaves_node) {
    add(0, end.ranks.size() - end.ranks.count_in(low, high));
    return;
  }
  all_.assign(static_cast<std::size_t>(node_size_), 0);
  near_.assign(static_cast<std::size_t>(node_size_), 0);
  std::vector<std::int64_t> scratch;
  count_residues(end.ranks, all_, scratch);
  end.ranks.clip(low, high, [&](const Box& box) { count_residues(box, near_, scratch); });
  const auto lane_of = [&](std::int64_t residue) { return residue * tier.lanes / node_size_; };
  for (std::int64_t r = 0; r < node_size_; ++r) {
    const std::int64_t other = r + end.peer;
    if (other >= 0 && other < node_size_) continue;  // stays in the node
    const std::int64_t lane = lane_of(r);
    const bool same_lane = lane == lane_of((other % node_size_ + node_size_) % node_size_);
    const auto index = static_cast<std::size_t>(r);
    add(lane, same_lane ? all_[index] - near_[index] : all_[index]);
  }
}

std::uint32_t LinkTree::add_unit(int tier, std::int64_t lanes) {
  Vertex vertex;
  vertex.tier = tier;
  vertex.links = static_cast<std::uint32_t>(links_.size());
  for (auto& direction : lanes_) {
    const auto first = links_.size();
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      links_.push_back(class_of(tier, direction[static_cast<std::size_t>(lane)]));
      uniform_ = uniform_ && links_.back() == links_[first];
    }
  }
  vertices_.push_back(vertex);
  return static_cast<std::uint32_t>(vertices_.size() - 1);
}

LinkClassId LinkTree::class_of(int tier, std::vector<Share>& usage) {
  std::ranges::sort(usage, {}, &Share::id);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < usage.size(); ++i) {
    if (kept > 0 && usage[kept - 1].id == usage[i].id) {
      usage[kept - 1].units += usage[i].units;
    } else {
      usage[kept++] = usage[i];
    }
  }
  usage.resize(kept);
  if (usage.empty()) return no_class;
  const auto [place, is_new] = class_ids_.try_emplace({tier, usage}, static_cast<LinkClassId>(classes_.size()));
  if (is_new) classes_.push_back({tier, usage});
  return place->second;
}

bool LinkTree::is_uniform(std::uint32_t vertex, std::int64_t size) const {
  std::array<std::array<LinkClassId, 4>, 2> seen{};
  for (std::int64_t device = 0; device < size; ++device) {
    auto& links = seen[device == 0 ? 0 : 1];
    links = {no_class, no_class, no_class, no_class};
    std::int64_t rank = device;
    std::uint32_t at = vertex;
    while (true) {
      const Vertex& v = vertices_[at];
      if (v.tier >= 0) {
        links[static_cast<std::size_t>(v.tier) * 2] = links_[v.links];
        links[static_cast<std::size_t>(v.tier) * 2 + 1] = links_[v.links + 1];
        if (v.tier == 0) break;
        at = v.left;
      } else if (rank < v.left_size) {
        at = v.left;
      } else {
        rank -= v.left_size;
        at = v.right;
      }
    }
    if (device > 0 && seen[0] != seen[1]) return false;
  }
  return true;
}

void LinkTree::path(Rank rank, Path& path) const {
  const auto residue = static_cast<std::uint64_t>(rank) % static_cast<std::uint64_t>(node_size_);
  std::int64_t rest = rank;
  std::uint32_t at = root_;
  while (true) {
    const Vertex& v = vertices_[at];
    if (v.tier >= 0) {
      const auto tier = static_cast<std::size_t>(v.tier);
      const auto lanes = static_cast<std::uint32_t>(tiers_[tier].lanes);
      const auto lane =
          lanes == 1 ? 0U : static_cast<std::uint32_t>(residue * lanes / static_cast<std::uint64_t>(node_size_));
      path.up[tier] = links_[v.links + lane];
      path.down[tier] = links_[v.links + lanes + lane];
      if (tier == 0) return;
      at = v.left;
    } else if (rest < v.left_size) {
      at = v.left;
    } else {
      rest -= v.left_size;
      at = v.right;
    }
  }
}

std::uint32_t LinkTree::node_kind(Rank rank) const {
  std::int64_t rest = rank;
  std::uint32_t at = root_;
  while (true) {
    const Vertex& v = vertices_[at];
    if (v.tier == -2) return v.left;
    if (v.tier >= 0 || rest < v.left_size) {
      at = v.left;
    } else {
      rest -= v.left_size;
      at = v.right;
    }
  }
}

}  // namespace warploom
