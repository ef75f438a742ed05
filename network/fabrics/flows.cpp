// SPDX-License-Identifier: Apache-2.0
// Rings, chains, pairs and all-pairs as flow boxes.
#include "network/fabrics/flows.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <unordered_map>

#include "network/fabrics/double_tree.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

std::vector<Box> sum_boxes(const Box& box, Rank base, const std::vector<Stride>& digits) {
  std::vector<Stride> all(box.digits().begin(), box.digits().end());
  all.insert(all.end(), digits.begin(), digits.end());
  return normal_boxes(box.base + base, all);
}

namespace {

// Neighbouring ranks of the box are at least `distance` apart.
bool keeps_apart(const RankBox& members, std::int64_t distance) {
  const auto boxes = normal_boxes(members.base, members.digits);
  if (boxes.size() != 1) return false;
  std::int64_t reach = 0;
  for (const auto& digit : boxes[0].digits()) {
    if (digit.stride - reach < distance) return false;
    reach += (digit.count - 1) * digit.stride;
  }
  return true;
}

}  // namespace

void split_at(std::vector<Stride>& digits, std::int64_t node_size) {
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const Stride digit = digits[i];
    if (digit.stride <= 0 || digit.stride >= node_size || node_size % digit.stride != 0) continue;
    const std::int64_t in_node = node_size / digit.stride;
    if (digit.count <= in_node || digit.count % in_node != 0) continue;
    digits[i].count = in_node;
    digits.insert(digits.begin() + static_cast<std::ptrdiff_t>(i) + 1, {digit.count / in_node, node_size});
  }
}

TrafficShape::TrafficShape(const Traffic& traffic, const Group& group, std::int64_t node_size,
                           const std::vector<std::int64_t>& units)
    : pattern_(traffic.pattern), members_(group.members), node_size_(node_size) {
  std::erase_if(members_.digits, [](const Stride& digit) { return digit.count == 1; });
  if (pattern_ == FlowPattern::all_pairs) cut_at(units);
  if (is_by_member(pattern_)) find_member_flows(traffic);
  split_at(members_.digits, node_size);
  for (const auto& digit : members_.digits) {
    if (digit.stride % node_size == 0) {
      outer_.push_back(digit);
    } else {
      inner_.push_back(digit);
      inner_extent_ += (digit.count - 1) * std::abs(digit.stride);
    }
  }
  is_spread_ = inner_.empty() || keeps_apart(members_, node_size);
  WARPLOOM_CHECK((pattern_ != FlowPattern::pair && pattern_ != FlowPattern::rail_pair) || group.member_count() == 2,
                 "a pair of {} members", group.member_count());
}

// A member's node follows from the digits that are whole nodes alone, unless the others carry over into the next.
bool TrafficShape::carries_over(const Box& starts) const {
  std::int64_t low = members_.base;
  std::int64_t extent = inner_extent_;
  for (const auto& inner : inner_) low += std::min<std::int64_t>((inner.count - 1) * inner.stride, 0);
  for (const auto& other : starts.digits()) {
    if (other.stride % node_size_ != 0) extent += (other.count - 1) * other.stride;
  }
  low = ((starts.base + low) % node_size_ + node_size_) % node_size_;
  return low + extent >= node_size_;
}

bool TrafficShape::stays_in_nodes(const Box& starts, std::size_t digit) const {
  return starts.digits()[digit].stride % node_size_ != 0 && !carries_over(starts);
}

bool TrafficShape::is_inside_a_node(Rank start) const { return outer_.empty() && !carries_over(Box(start)); }

TrafficShape::Placement TrafficShape::placement(const Box& starts) const {
  if (!coupled() || is_by_member(pattern_) || pattern_ == FlowPattern::rail_pair) return Placement::plain;
  if (is_spread_) return Placement::plain;
  if (carries_over(starts)) return Placement::irregular;
  return outer_.empty() ? Placement::plain : Placement::rotated;
}

// x -> x + 1 in the numbering of `digits`; closed: the last returns to the first. Done at all ranks of `others` alike.
void TrafficShape::add_cycle(const std::vector<Stride>& digits, bool closed, const std::vector<Stride>& others,
                             std::int64_t units, const Box& starts, Flows& flows) const {
  Rank carried = 0;  // from the digits that are at their last value
  for (std::size_t level = 0; level <= digits.size(); ++level) {
    if (level == digits.size() && (!closed || digits.empty())) break;
    std::vector<Stride> sources(others);
    std::int64_t delta = -carried;
    if (level < digits.size()) {
      sources.push_back({digits[level].count - 1, digits[level].stride});
      sources.insert(sources.end(), digits.begin() + static_cast<std::ptrdiff_t>(level) + 1, digits.end());
      delta += digits[level].stride;
    }
    for (const Box& from : sum_boxes(starts, members_.base + carried, sources))
      flows.routed.push_back({from, delta, units});
    if (level < digits.size()) carried += (digits[level].count - 1) * digits[level].stride;
  }
}

// Members by node, nodes in the order of their first member.
std::vector<std::vector<Rank>> TrafficShape::by_node(Rank start) const {
  std::vector<std::vector<Rank>> nodes;
  std::unordered_map<std::int64_t, std::size_t> place;
  for (std::int64_t i = 0; i < members_.size(); ++i) {
    const Rank rank = start + members_.at(i);
    const std::int64_t node = rank / node_size_;
    const auto [known, is_new] = place.try_emplace(node, nodes.size());
    if (is_new) nodes.emplace_back();
    nodes[known->second].push_back(rank);
  }
  return nodes;
}

namespace {

// What one node's members send to another's: the shares of their cards overlap.
void add_shares(const std::vector<Rank>& from, const std::vector<Rank>& to, Flows& flows) {
  const auto count = static_cast<std::int64_t>(from.size());
  const auto next_count = static_cast<std::int64_t>(to.size());
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t j = 0; j < next_count; ++j) {
      const std::int64_t low = std::max(i * next_count, j * count);
      const std::int64_t high = std::min((i + 1) * next_count, (j + 1) * count);
      if (low >= high) continue;
      const std::int64_t units = (high - low) * units_per_flow / (count * next_count);
      const Rank source = from[static_cast<std::size_t>(i)];
      flows.routed.push_back({Box(source), to[static_cast<std::size_t>(j)] - source, units});
    }
  }
}

}  // namespace

void TrafficShape::add_irregular_nodes(Rank start, Flows& flows) const {
  const auto nodes = by_node(start);
  if (pattern_ == FlowPattern::rails) {
    for (std::size_t v = 0; v < nodes.size() && nodes.size() > 1; ++v)
      add_shares(nodes[v], nodes[(v + 1) % nodes.size()], flows);
    return;
  }
  for (const int which : {0, 1}) {
    for (const auto& edges : double_tree(static_cast<std::int64_t>(nodes.size()), which).edges) {
      for (std::int64_t i = 0; i < edges.count; ++i) {
        const auto child = static_cast<std::size_t>(edges.first + i * edges.stride);
        const auto parent = static_cast<std::size_t>(edges.first + i * edges.stride + edges.delta);
        add_shares(nodes[child], nodes[parent], flows);
        add_shares(nodes[parent], nodes[child], flows);
      }
    }
  }
}

void TrafficShape::add_irregular(Rank start, Flows& flows) const {
  const auto nodes = by_node(start);
  const bool one_each = nodes.size() == static_cast<std::size_t>(members_.size());
  const bool open = pattern_ == FlowPattern::chain && (one_each || nodes.size() == 1);
  if (nodes.size() == 1) {
    const auto& ranks = nodes[0];
    for (std::size_t i = 0; i + (open ? 1 : 0) < ranks.size(); ++i) {
      flows.routed.push_back({Box(ranks[i]), ranks[(i + 1) % ranks.size()] - ranks[i]});
    }
    return;
  }
  for (std::size_t v = 0; v < nodes.size(); ++v) {
    const auto count = static_cast<std::int64_t>(nodes[v].size());
    if (count > 1) {
      for (const Rank rank : nodes[v]) flows.ports.push_back({Box(rank), units_per_flow - units_per_flow / count});
    }
    if (open && v + 1 == nodes.size()) break;
    const auto& next = nodes[(v + 1) % nodes.size()];
    add_shares(nodes[v], next, flows);
  }
}

namespace {

// As few digits as name the same ranks in ascending order.
std::vector<Stride> nodes_of(Rank base, const std::vector<Stride>& digits) {
  const auto normal = normal_boxes(base, digits);
  if (normal.size() != 1 || normal[0].base != base) return digits;
  return {normal[0].digits().begin(), normal[0].digits().end()};
}

}  // namespace

// The edges of both trees over the nodes that `digits` name, done at all ranks of `others` alike.
void TrafficShape::add_tree(const std::vector<Stride>& digits, const std::vector<Stride>& others, std::int64_t units,
                            const Box& starts, Flows& flows) const {
  for (const int which : {0, 1}) {
    Rank roots = members_.base;  // of the trees over the digits before
    for (std::size_t level = 0; level < digits.size(); ++level) {
      const auto& [count, stride] = digits[level];
      const BinaryTree tree = double_tree(count, which);
      for (const auto& edges : tree.edges) {
        std::vector<Stride> children(others);
        children.push_back({edges.count, edges.stride * stride});
        children.insert(children.end(), digits.begin() + static_cast<std::ptrdiff_t>(level) + 1, digits.end());
        const Rank delta = edges.delta * stride;
        for (const Box& from : sum_boxes(starts, roots + edges.first * stride, children)) {
          flows.routed.push_back({from, delta, units});
          flows.routed.push_back({from.shifted(delta), -delta, units});
        }
      }
      roots += tree.root * stride;
    }
  }
}

// Between nodes only: trees and rails.
void TrafficShape::node_flows(const Box& starts, Flows& flows) const {
  switch (placement(starts)) {
    case Placement::plain:
      // Spread over nodes one by one, or all in a node, where no edge is.
      if (!is_spread_) break;
      if (pattern_ == FlowPattern::tree) {
        add_tree(nodes_of(members_.base, members_.digits), {}, units_per_flow, starts, flows);
      } else {
        add_cycle(members_.digits, true, {}, units_per_flow, starts, flows);
      }
      break;
    case Placement::rotated: {
      std::int64_t in_node = 1;
      for (const auto& digit : inner_) in_node *= digit.count;
      if (pattern_ == FlowPattern::tree) {
        add_tree(nodes_of(0, outer_), inner_, units_per_flow / in_node, starts, flows);
      } else {
        add_cycle(outer_, true, inner_, units_per_flow / in_node, starts, flows);
      }
      break;
    }
    case Placement::irregular:
      for (std::int64_t i = 0; i < starts.size(); ++i) {
        const Box start(starts.at(i));
        if (is_regular(start)) {
          node_flows(start, flows);
        } else {
          add_irregular_nodes(start.base, flows);
        }
      }
      break;
  }
}

Flows TrafficShape::flows(const Box& starts) const {
  Flows flows;
  if (members_.size() == 1) return flows;
  if (pattern_ == FlowPattern::pair) {
    const std::int64_t delta = members_.at(1) - members_.at(0);
    flows.routed.push_back({starts.shifted(members_.at(0)), delta});
    return flows;
  }
  if (pattern_ == FlowPattern::all_pairs) {
    add_all_pairs(starts, flows);
    return flows;
  }
  if (is_by_member(pattern_)) return moved_member_flows(starts);
  if (pattern_ == FlowPattern::rail_pair) return rail_pair_flows(starts);
  if (pattern_ == FlowPattern::ports) {
    for (const Box& ranks : sum_boxes(starts, members_.base, members_.digits))
      flows.ports.push_back({ranks, units_per_flow});
    return flows;
  }
  if (pattern_ == FlowPattern::tree || pattern_ == FlowPattern::rails) {
    node_flows(starts, flows);
    return flows;
  }
  switch (placement(starts)) {
    case Placement::plain:
      add_cycle(members_.digits, pattern_ == FlowPattern::ring, {}, units_per_flow, starts, flows);
      break;
    case Placement::rotated: {
      std::int64_t in_node = 1;
      for (const auto& digit : inner_) in_node *= digit.count;
      add_cycle(outer_, true, inner_, units_per_flow / in_node, starts, flows);
      for (const Box& ranks : sum_boxes(starts, members_.base, members_.digits)) {
        flows.ports.push_back({ranks, units_per_flow - units_per_flow / in_node});
      }
      break;
    }
    case Placement::irregular:
      for (std::int64_t i = 0; i < starts.size(); ++i) {
        const Box start(starts.at(i));
        if (is_regular(start)) {
          const Flows more = this->flows(start);
          flows.routed.insert(flows.routed.end(), more.routed.begin(), more.routed.end());
          flows.ports.insert(flows.ports.end(), more.ports.begin(), more.ports.end());
        } else {
          add_irregular(start.base, flows);
        }
      }
      break;
  }
  return flows;
}

}  // namespace warploom
