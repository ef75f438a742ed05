// SPDX-License-Identifier: Apache-2.0
// Walks the instances of a group that can differ.
#include "network/collectives/group_profile.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "network/collectives/rank_list.hpp"
#include "network/fabrics/flows.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

namespace {

void require_ranks(const Group& group, const Topology& topology) {
  if (group.members.size() < 1 || group.instance_count() < 1) throw UserError("a communication group without members");
  require_distinct(group.members, group.instances.front().base);
  Rank low = group.members.base;
  Rank high = group.members.base;
  for (const auto& digit : group.members.digits) ((digit.stride < 0) ? low : high) += (digit.count - 1) * digit.stride;
  for (const auto& box : group.instances) {
    Rank first = box.base + low;
    Rank last = box.base + high;
    for (const auto& digit : box.digits) ((digit.stride < 0) ? first : last) += (digit.count - 1) * digit.stride;
    topology.require_rank(first);
    topology.require_rank(last);
  }
}

// How many nodes, and the fewest members of one; takes the node of every member, in ascending order.
class NodeShares {
 public:
  void add(std::int64_t node) {
    if (held_ > 0 && node != node_) close();
    node_ = node;
    ++held_;
  }
  std::pair<std::int64_t, std::int64_t> finish() {
    close();
    return {count_, least_};
  }

 private:
  void close() {
    least_ = count_ == 0 ? held_ : std::min(least_, held_);
    ++count_;
    held_ = 0;
  }

  std::int64_t node_ = 0;
  std::int64_t held_ = 0;
  std::int64_t count_ = 0;
  std::int64_t least_ = 0;
};

std::pair<std::int64_t, std::int64_t> spread(const Group& group, Rank start, const Topology& topology) {
  const auto boxes = normal_boxes(start + group.members.base, group.members.digits);
  NodeShares shares;
  // One normal box ascends, so that a group of all devices needs no list of them.
  if (boxes.size() == 1) {
    for (std::int64_t i = 0; i < boxes[0].size(); ++i) shares.add(boxes[0].at(i) / topology.node_size());
    return shares.finish();
  }
  std::vector<std::int64_t> nodes;
  for (std::int64_t i = 0; i < group.member_count(); ++i) nodes.push_back(group.rank(start, i) / topology.node_size());
  std::ranges::sort(nodes);
  for (const std::int64_t node : nodes) shares.add(node);
  return shares.finish();
}

struct PathLatency {
  Time path;     // once around, or for independent flows the longest
  Time longest;  // of a flow
};

PathLatency path_latency(const TrafficShape& shape, Rank start, const Topology& topology) {
  double sum_ps = 0;
  Time longest = Time::zero();
  for (const auto& flow : shape.flows(Box(start)).routed) {
    const std::int64_t count = flow.from.size();
    for (std::int64_t i = 0; i < count; ++i) {
      const Time latency = topology.latency(flow.from.at(i), flow.from.at(i) + flow.delta);
      sum_ps +=
          static_cast<double>(latency.ps()) * static_cast<double>(flow.units) / static_cast<double>(units_per_flow);
      longest = std::max(longest, latency);
    }
  }
  return {shape.is_in_turn() ? Time::picoseconds(std::llround(sum_ps)) : longest, longest};
}

// From a leaf to the root of a binary tree over the nodes: a hop to the node 1, 2, 4, ... further. Takes the members as
// they are numbered, in equal shares a node.
Time tree_latency(const GroupProfile& profile, const Group& group, Rank start, const Topology& topology) {
  Time sum = Time::zero();
  const std::int64_t in_node = std::max<std::int64_t>(profile.members / profile.nodes, 1);
  const Rank root = group.rank(start, 0);
  for (std::int64_t node = 1; node < profile.nodes; node *= 2) {
    const std::int64_t member = std::min(node * in_node, profile.members - 1);
    sum += topology.latency(root, group.rank(start, member));
  }
  return sum;
}

}  // namespace

GroupProfile profile_of(FlowPattern pattern, const Group& group, const Topology& topology) {
  require_ranks(group, topology);
  GroupProfile profile;
  profile.members = group.member_count();
  if (profile.members == 1) return profile;
  const TrafficShape shape(pattern, group, topology);
  const std::int64_t widest = topology.period();
  std::optional<GroupProfile> first;
  for (const auto& instances : group.instances) {
    for (Box box : normal_boxes(instances.base, instances.digits)) {
      for (std::size_t i = 0; i < box.digits().size();) {
        const bool whole_units = box.digits()[i].stride % std::max(widest, topology.node_size()) == 0;
        if (whole_units || shape.stays_in_nodes(box, i)) {
          box = box.without(i);
        } else {
          ++i;
        }
      }
      const std::int64_t count = box.size();
      for (std::int64_t i = 0; i < count; ++i) {
        GroupProfile one = profile;
        std::tie(one.nodes, one.least_in_node) = spread(group, box.at(i), topology);
        const PathLatency latency = path_latency(shape, box.at(i), topology);
        one.path_latency = latency.path;
        one.longest_hop = latency.longest;
        one.tree_latency = tree_latency(one, group, box.at(i), topology);
        if (!first) {
          first = one;
          continue;
        }
        const bool same = one.nodes == first->nodes && one.least_in_node == first->least_in_node &&
                          one.path_latency == first->path_latency && one.tree_latency == first->tree_latency &&
                          one.longest_hop == first->longest_hop;
        first->alike = first->alike && same;
        first->nodes = std::max(first->nodes, one.nodes);
        first->least_in_node = std::min(first->least_in_node, one.least_in_node);
        first->path_latency = std::max(first->path_latency, one.path_latency);
        first->tree_latency = std::max(first->tree_latency, one.tree_latency);
        first->longest_hop = std::max(first->longest_hop, one.longest_hop);
      }
    }
  }
  return *first;
}

}  // namespace warploom
