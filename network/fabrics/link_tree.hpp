// SPDX-License-Identifier: Apache-2.0
// The links of a tree of switches, folded: equal subtrees are stored once, and links of equal use are one class.
//
// The ranks are halved along the units of the tiers, from the root to the devices. What a range is crossed by, seen
// from its own first rank, is its signature; ranges of equal size and signature share one node (hash-consing), so that
// a periodic layout of a hundred thousand devices is a few hundred nodes and a rank's links are found in log(ranks)
// steps.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "network/fabrics/flows.hpp"
#include "network/topology.hpp"

namespace warploom {

using LinkClassId = std::uint32_t;
using VariableId = std::uint32_t;
inline constexpr std::uint32_t no_class = UINT32_MAX;

// What a link carries of a variable when it is active: `units` / units_per_flow flows.
struct Share {
  std::uint32_t id = 0;  // of a variable or of a link class
  std::int64_t units = 0;
  friend auto operator<=>(const Share&, const Share&) = default;
};

// One end of a box of flows: at every rank of `ranks` flows leave (up) for or arrive (down) from the rank `peer`
// further.
struct FlowEnd {
  VariableId variable = 0;
  Direction direction = Direction::up;
  bool port_only = false;  // uses the node port and nothing else
  std::int64_t units = 0;
  std::int64_t peer = 0;
  Box ranks;
};

class LinkTree {
 public:
  struct Class {
    int tier = 0;
    std::vector<Share> usage;  // by variable
  };
  // Classes of a rank's links by tier; no_class where nothing ever flows, and for tiers that cannot bind.
  struct Path {
    static constexpr std::size_t max_tiers = Route::max_links / 2;
    std::array<LinkClassId, max_tiers> up;
    std::array<LinkClassId, max_tiers> down;
    Path() { up.fill(no_class), down.fill(no_class); }
  };

  explicit LinkTree(const TieredTopology& topology);

  // `ends` sorted by variable.
  void build(const std::vector<FlowEnd>& ends);

  std::span<const Class> classes() const { return classes_; }
  void path(Rank rank, Path& path) const;
  // Equal for ranks whose nodes are alike inside.
  std::uint32_t node_kind(Rank rank) const;
  // Inside every node, and between the rails of every switch, all links are of one class.
  bool nodes_are_uniform() const { return uniform_; }
  std::size_t size() const { return vertices_.size(); }

 private:
  struct Vertex {
    std::int64_t left_size = 0;  // ranks of the left child
    std::uint32_t left = 0;
    std::uint32_t right = 0;
    std::int32_t tier = -1;   // of a unit's links; -1: a cut; -2: a node
    std::uint32_t links = 0;  // a unit's classes: lanes up, then lanes down
  };
  using Ends = std::vector<FlowEnd>;

  int next_tier(int tier) const;
  std::uint32_t outside(std::int64_t size, int tier, const Ends& ends);
  std::uint32_t inside(std::int64_t size, int tier, const Ends& ends);
  template <class Build>
  std::uint32_t cut(std::int64_t size, std::int64_t span, const Ends& ends, Build&& build);
  std::uint32_t add_unit(int tier, std::int64_t lanes);
  void add_usage(const FlowEnd& end, std::int64_t size, const LinkTier& tier);
  Ends resolve_node(std::int64_t size, const Ends& ends) const;
  bool is_uniform(std::uint32_t vertex, std::int64_t size) const;
  LinkClassId class_of(int tier, std::vector<Share>& usage);

  const TieredTopology& topology_;
  std::span<const LinkTier> tiers_;
  std::int64_t node_size_;
  std::uint32_t root_ = 0;
  bool uniform_ = true;
  std::vector<Vertex> vertices_;
  std::vector<LinkClassId> links_;
  std::vector<Class> classes_;
  std::map<std::pair<int, std::vector<Share>>, LinkClassId> class_ids_;
  struct KeyHash {
    std::size_t operator()(const std::vector<std::int64_t>& key) const;
  };
  std::unordered_map<std::vector<std::int64_t>, std::uint32_t, KeyHash> known_;
  // Scratch of one unit: what each lane carries up and down.
  std::array<std::vector<std::vector<Share>>, 2> lanes_;
  std::vector<std::int64_t> all_;
  std::vector<std::int64_t> near_;
};

}  // namespace warploom
