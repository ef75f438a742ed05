// SPDX-License-Identifier: Apache-2.0
// Patterns that say for every member whom it sends to, whatever node that is in: shifts, exchanges, leftovers, gathers
// and lists. Written down as boxes of equal displacement, a few for members that are digits.
#include <algorithm>
#include <bit>
#include <map>

#include "network/fabrics/flows.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

std::int64_t power_of_two_below(std::int64_t members) {
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(members)));
}

namespace {

// Of members that each send to one at most; -1: none.
std::int64_t target_of(FlowPattern pattern, std::int64_t member, std::int64_t distance, std::int64_t members) {
  const std::int64_t paired = power_of_two_below(members);
  switch (pattern) {
    case FlowPattern::shift:
      return ((member + distance) % members + members) % members;
    case FlowPattern::exchange:
      return member < paired && (member ^ distance) < paired ? (member ^ distance) : -1;
    case FlowPattern::fold:
      return member >= paired ? member - paired : -1;
    case FlowPattern::unfold:
      return member + paired < members ? member + paired : -1;
    case FlowPattern::gather:
      return member > 0 ? 0 : -1;
    default:
      return -1;
  }
}

}  // namespace

void TrafficShape::find_member_flows(const Traffic& traffic) {
  // Sources by displacement and weight.
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Rank>> sources;
  const auto add = [&](std::int64_t from, std::int64_t to, std::int64_t weight) {
    const Rank rank = members_.at(from);
    const Rank delta = members_.at(to) - rank;
    if (delta != 0) sources[{delta, weight}].push_back(rank);
  };
  const std::int64_t members = members_.size();
  if (traffic.pattern == FlowPattern::pairs) {
    WARPLOOM_CHECK(traffic.pairs != nullptr, "a traffic of listed pairs without a list");
    for (const MemberPair& pair : *traffic.pairs) {
      WARPLOOM_CHECK(pair.from >= 0 && pair.from < members && pair.to >= 0 && pair.to < members && pair.weight > 0,
                     "a pair {} -> {} of weight {} among {} members", pair.from, pair.to, pair.weight, members);
      add(pair.from, pair.to, pair.weight);
    }
  } else if (traffic.pattern == FlowPattern::scatter) {
    for (std::int64_t member = 1; member < members; ++member) add(0, member, 1);
  } else {
    for (std::int64_t member = 0; member < members; ++member) {
      const std::int64_t target = target_of(traffic.pattern, member, traffic.distance, members);
      if (target >= 0) add(member, target, 1);
    }
  }
  for (auto& [key, ranks] : sources) {
    std::ranges::sort(ranks);
    BoxWriter writer;
    std::int64_t units = key.second * units_per_flow;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      // The same pair listed twice.
      if (i > 0 && ranks[i] == ranks[i - 1]) {
        member_flows_.push_back({Box(ranks[i]), key.first, units});
      } else {
        writer.add(ranks[i]);
      }
    }
    for (const Box& from : writer.finish()) member_flows_.push_back({from, key.first, units});
  }
}

Flows TrafficShape::moved_member_flows(const Box& starts) const {
  Flows flows;
  for (const FlowBox& flow : member_flows_) {
    const std::vector<Stride> digits(flow.from.digits().begin(), flow.from.digits().end());
    for (const Box& from : sum_boxes(starts, flow.from.base, digits))
      flows.routed.push_back({from, flow.delta, flow.units});
  }
  return flows;
}

// Where the rail begins follows from the target, start by start.
Flows TrafficShape::rail_pair_flows(const Box& starts) const {
  const std::int64_t delta = members_.at(1) - members_.at(0);
  std::map<std::int64_t, BoxWriter> entries;  // sources by the way to the rail
  for (std::int64_t i = 0; i < starts.size(); ++i) {
    const Rank from = starts.at(i) + members_.at(0);
    const Rank to = from + delta;
    const bool is_inside = from / node_size_ == to / node_size_;
    entries[is_inside ? 0 : to % node_size_ - from % node_size_].add(from);
  }
  Flows flows;
  for (auto& [step, writer] : entries) {
    for (const Box& from : writer.finish()) {
      if (step != 0) flows.routed.push_back({from, step});
      flows.routed.push_back({from.shifted(step), delta - step});
    }
  }
  return flows;
}

}  // namespace warploom
