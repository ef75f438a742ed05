// SPDX-License-Identifier: Apache-2.0
// Edges of the two trees, up and down.
#include "network/packet/tree_turns.hpp"

#include <map>
#include <tuple>

#include "network/fabrics/double_tree.hpp"

namespace warploom {

namespace {

std::vector<std::int64_t> parents_of(std::int64_t nodes, int which) {
  std::vector<std::int64_t> parents(static_cast<std::size_t>(nodes), -1);
  for (const TreeEdges& edges : double_tree(nodes, which).edges) {
    for (std::int64_t i = 0; i < edges.count; ++i) {
      const std::int64_t child = edges.first + i * edges.stride;
      parents[static_cast<std::size_t>(child)] = child + edges.delta;
    }
  }
  return parents;
}

class TreeJoiner {
 public:
  TreeJoiner(WrittenTraffic& written, std::int64_t node_size) : written_(written), node_size_(node_size) {}

  // Flows first to last - 1 of one tree of an instance whose nodes stand in `place`.
  void join(std::size_t first, std::size_t last, const std::map<std::int64_t, std::int64_t>& place,
            const std::vector<std::int64_t>& parents) {
    up_.clear();
    down_.clear();
    const auto node = [&](Rank rank) { return place.at(rank / node_size_); };
    const auto parent = [&](std::int64_t at) { return parents[static_cast<std::size_t>(at)]; };
    for (std::size_t i = first; i < last; ++i) {
      GatedFlow& flow = written_.flows[i];
      const bool is_up = parent(node(flow.flow.from)) == node(flow.flow.to);
      if (!is_up && parent(node(flow.flow.to)) != node(flow.flow.from)) continue;
      feed(is_up ? up_ : down_, flow);
    }
    for (std::size_t i = first; i < last; ++i) {
      GatedFlow& flow = written_.flows[i];
      if (flow.in == nothing) continue;
      const bool is_up = parent(node(flow.flow.from)) == node(flow.flow.to);
      const bool from_root = parent(node(flow.flow.from)) < 0;
      const auto& gates = is_up || from_root ? up_ : down_;
      if (const auto gate = gates.find(flow.flow.from); gate != gates.end()) flow.out = gate->second;
    }
  }

 private:
  using Gates = std::map<Rank, std::uint32_t>;
  void feed(Gates& gates, GatedFlow& flow) {
    const auto [known, is_new] = gates.try_emplace(flow.flow.to, static_cast<std::uint32_t>(written_.gates.size()));
    if (is_new) {
      written_.gates.push_back(0);
      written_.units.push_back(flow.flow.units);
    }
    flow.in = known->second;
    flow.input = written_.gates[known->second]++;
  }

  WrittenTraffic& written_;
  std::int64_t node_size_;
  Gates up_;  // what has come to a rank from its children, from its parent
  Gates down_;
};

}  // namespace

void join_trees(WrittenTraffic& written, const Group& group, std::int64_t node_size) {
  TreeJoiner joiner(written, node_size);
  std::uint32_t instance = 0;
  std::size_t first = 0;
  for (const RankBox& box : group.instances) {
    for (std::int64_t i = 0; i < box.size(); ++i, ++instance) {
      std::size_t last = first;
      while (last < written.flows.size() && written.flows[last].flow.instance == instance) ++last;
      std::map<std::int64_t, std::int64_t> place;
      for (std::int64_t m = 0; m < group.member_count(); ++m) {
        place.try_emplace(group.rank(box.at(i), m) / node_size, static_cast<std::int64_t>(place.size()));
      }
      const std::size_t middle = first + (last - first) / 2;
      const auto nodes = static_cast<std::int64_t>(place.size());
      joiner.join(first, middle, place, parents_of(nodes, 0));
      joiner.join(middle, last, place, parents_of(nodes, 1));
      first = last;
    }
  }
}

}  // namespace warploom
