// SPDX-License-Identifier: Apache-2.0
// Which flows a traffic is made of: boxes of flows with one displacement, never lists of flows.
//
// Ring and chain go from member to member where no two members share a node, or all do. Where a node holds k members of
// an instance and there are several nodes, they are the library's rings (NCCL): k channels, rotated so that each leaves
// a node by another member's card. Of the bytes of one hop a member's card then carries 1/k each way, its node port
// (k-1)/k. With k in one node and k' in the next, card i feeds the cards whose k' shares overlap its own. A chain over
// such nodes follows the ring and is charged the hop into its root, too.
//
// A tree's edges join nodes (double_tree.hpp): an edge of a tree is a flow up and one down, of which each of the k
// members of a node carries 1/k. Where the nodes of a group take several digits to name, trees over the first digit
// hang below trees over the next.
//
// All pairs go at one rate, so that only their sum on each link counts. Where the members are digits that the units of
// all tiers cut between, two members meet at a tier that follows from the digits in which they differ: for every set of
// digits, prod (count - 1) flows from each member to the one that is a step further in just these stand for all that
// differ in them. 65,536 members are a hundred boxes. Where a digit crosses a unit's end (500 nodes, 32 a leaf), its
// differences are written out one by one; members that are no digits at all, pair by pair.
#pragma once

#include <cstdint>
#include <vector>

#include "network/fabrics/box.hpp"
#include "network/topology.hpp"
#include "sim/play/ports.hpp"

namespace warploom {

// What a link carries of a variable is counted in parts of a flow, in whole numbers, so that sums are exact in any
// order.
inline constexpr std::int64_t units_per_flow = 720'720;  // divisible by 1 to 16, 72

// A flow from every rank of `from` to the rank `delta` further.
struct FlowBox {
  Box from;
  std::int64_t delta = 0;
  std::int64_t units = units_per_flow;
};

// At every rank the node port is used, both ways.
struct PortBox {
  Box ranks;
  std::int64_t units = 0;
};

struct Flows {
  std::vector<FlowBox> routed;
  std::vector<PortBox> ports;
};

constexpr bool is_coupled(FlowPattern pattern) { return pattern != FlowPattern::pair; }

// Every member sends by itself, whatever node it is in (member_flows.cpp).
constexpr bool is_by_member(FlowPattern pattern) {
  return pattern >= FlowPattern::shift && pattern <= FlowPattern::pairs;
}

// The most members that exchange in pairs, in rounds of doubled distance.
std::int64_t power_of_two_below(std::int64_t members);

class TrafficShape {
 public:
  // Of the group along the traffic's axis (axis.hpp). `units`: devices of a unit of each tier of links, and of those
  // that share a lane of it; all pairs need them.
  TrafficShape(const Traffic& traffic, const Group& group, std::int64_t node_size,
               const std::vector<std::int64_t>& units = {});
  TrafficShape(const Traffic& traffic, const Group& group, const Topology& topology);
  TrafficShape(FlowPattern pattern, const Group& group, std::int64_t node_size)
      : TrafficShape(Traffic{.pattern = pattern}, group, node_size) {}
  TrafficShape(FlowPattern pattern, const Group& group, const Topology& topology)
      : TrafficShape(Traffic{.pattern = pattern}, group, topology) {}

  bool coupled() const { return is_coupled(pattern_); }
  // Its flows follow each other: a byte crosses one after the other.
  bool is_in_turn() const { return coupled() && pattern_ != FlowPattern::all_pairs && !is_by_member(pattern_); }
  // Flows of all instances that start in the box.
  Flows flows(const Box& starts) const;
  // Flows of the instances of the box differ by displacement only.
  bool is_regular(const Box& starts) const { return placement(starts) != Placement::irregular; }
  // All members of the instance that starts there share a node.
  bool is_inside_a_node(Rank start) const;
  // Moving an instance by a digit of `starts` keeps each of its members in its node, whatever the other digits are.
  bool stays_in_nodes(const Box& starts, std::size_t digit) const;

 private:
  enum class Placement { plain, rotated, irregular };
  Placement placement(const Box& starts) const;
  bool carries_over(const Box& starts) const;
  void add_cycle(const std::vector<Stride>& digits, bool closed, const std::vector<Stride>& others, std::int64_t units,
                 const Box& starts, Flows& flows) const;
  void cut_at(const std::vector<std::int64_t>& units);
  bool fits_units(const Box& starts) const;
  void add_steps(std::uint32_t which, const std::vector<std::int64_t>& step, const Box& starts, Flows& flows) const;
  void add_all_pairs(const Box& starts, Flows& flows) const;
  void add_each_pair(const Box& starts, Flows& flows) const;
  void node_flows(const Box& starts, Flows& flows) const;
  void add_tree(const std::vector<Stride>& digits, const std::vector<Stride>& others, std::int64_t units,
                const Box& starts, Flows& flows) const;
  std::vector<std::vector<Rank>> by_node(Rank start) const;
  void add_irregular(Rank start, Flows& flows) const;
  void add_irregular_nodes(Rank start, Flows& flows) const;
  void find_member_flows(const Traffic& traffic);
  Flows moved_member_flows(const Box& starts) const;
  Flows rail_pair_flows(const Box& starts) const;

  FlowPattern pattern_;
  RankBox members_;
  std::int64_t node_size_;
  std::int64_t inner_extent_ = 0;    // of the member digits whose strides are not whole nodes
  std::vector<Stride> inner_;        // in member order
  std::vector<Stride> outer_;        // strides of whole nodes, in member order
  bool is_spread_ = false;           // no two members of an instance share a node
  std::vector<std::int64_t> units_;  // all pairs: of the tiers, as far as members lie in several
  std::vector<Stride> cut_;          // all pairs: the members in ascending order, no digit across a unit's end
  Rank cut_base_ = 0;
  std::vector<bool> is_uneven_;  // all pairs: digits that cross a unit's end after all
  bool is_cut_ = false;
  std::vector<FlowBox> member_flows_;  // by member: of an instance that starts at 0
};

// A digit that runs through whole units, such as nodes, as two, the place in the unit and the unit: the same members in
// the same order.
void split_at(std::vector<Stride>& digits, std::int64_t unit);

// A box of ranks plus displacements, in normal form.
std::vector<Box> sum_boxes(const Box& box, Rank base, const std::vector<Stride>& digits);

}  // namespace warploom
