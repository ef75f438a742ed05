// SPDX-License-Identifier: Apache-2.0
// All pairs as boxes: one for each set of digits in which two members differ.
#include <algorithm>
#include <cstdlib>

#include "network/fabrics/flows.hpp"

namespace warploom {

namespace {

// The tiers' units, and the devices of a node that share a lane.
std::vector<std::int64_t> units_of(const Topology& topology) {
  std::vector<std::int64_t> units{topology.node_size()};
  if (topology.tiered() == nullptr) return units;
  for (const LinkTier& tier : topology.tiered()->tiers()) {
    if (tier.span > 1) units.push_back(tier.span);
    if (tier.lanes > 1 && topology.node_size() % tier.lanes == 0) units.push_back(topology.node_size() / tier.lanes);
  }
  return units;
}

}  // namespace

TrafficShape::TrafficShape(const Traffic& traffic, const Group& group, const Topology& topology)
    : TrafficShape(traffic, group, topology.node_size(), units_of(topology)) {
  // Where lanes are of unequal shares of a node, no digit says which one is taken.
  if (topology.tiered() == nullptr) return;
  is_cut_ = is_cut_ && std::ranges::all_of(topology.tiered()->tiers(), [&](const LinkTier& tier) {
              return topology.node_size() % tier.lanes == 0;
            });
}

void TrafficShape::cut_at(const std::vector<std::int64_t>& units) {
  const auto normal = normal_boxes(members_.base, members_.digits);
  if (normal.size() != 1) return;
  cut_base_ = normal[0].base;
  cut_.assign(normal[0].digits().begin(), normal[0].digits().end());
  units_ = units.empty() ? std::vector{node_size_} : units;
  std::ranges::sort(units_);
  const auto doubled = std::ranges::unique(units_);
  units_.erase(doubled.begin(), doubled.end());
  for (const std::int64_t unit : units_) split_at(cut_, unit);
  is_cut_ = cut_.size() <= Box::max_digits;
  is_uneven_.assign(cut_.size(), false);
  std::vector<std::int64_t> kept;
  for (const std::int64_t unit : units_) {
    bool is_crossed = false;
    for (std::size_t i = 0; i < cut_.size(); ++i) {
      const Stride& digit = cut_[i];
      if (digit.stride % unit == 0 || digit.stride * digit.count <= unit) continue;
      is_crossed = is_uneven_[i] = true;
      is_cut_ = is_cut_ && unit % digit.stride == 0;
    }
    if (!is_crossed) kept.push_back(unit);
  }
  // Where a digit crosses a unit, what is below the digit must not.
  for (std::size_t i = 0; i < cut_.size(); ++i) {
    if (is_uneven_[i] && cut_[i].stride > 1) kept.push_back(cut_[i].stride);
  }
  units_ = std::move(kept);
}

// Each member to the one that is `step` further in the uneven digits, a step further in the digits of `which`,
// cyclically, and the same in all others.
void TrafficShape::add_steps(std::uint32_t which, const std::vector<std::int64_t>& step, const Box& starts,
                             Flows& flows) const {
  std::vector<std::size_t> chosen;
  std::int64_t units = units_per_flow;
  std::vector<Stride> digits = cut_;
  Rank base = cut_base_;
  std::int64_t shift = 0;
  for (std::size_t i = 0; i < cut_.size(); ++i) {
    if ((which >> i & 1U) != 0) {
      chosen.push_back(i);
      units *= cut_[i].count - 1;
    }
    digits[i].count -= std::abs(step[i]);
    base += std::max<std::int64_t>(-step[i], 0) * digits[i].stride;
    shift += step[i] * digits[i].stride;
  }
  // Of the chosen digits, those in `last` are at their last value and return to their first.
  for (std::uint32_t last = 0; last < 1U << chosen.size(); ++last) {
    std::vector<Stride> sources = digits;
    Rank first = base;
    std::int64_t delta = shift;
    for (std::size_t c = 0; c < chosen.size(); ++c) {
      Stride& digit = sources[chosen[c]];
      if ((last >> c & 1U) != 0) {
        first += (digit.count - 1) * digit.stride;
        delta -= (digit.count - 1) * digit.stride;
        digit.count = 1;
      } else {
        delta += digit.stride;
        --digit.count;
      }
    }
    for (const Box& from : sum_boxes(starts, first, sources)) flows.routed.push_back({from, delta, units});
  }
}

void TrafficShape::add_all_pairs(const Box& starts, Flows& flows) const {
  if (!fits_units(starts)) {
    for (std::int64_t i = 0; i < starts.size(); ++i) {
      const Box start(starts.at(i));
      if (starts.size() > 1 && fits_units(start)) {
        add_all_pairs(start, flows);
      } else {
        add_each_pair(start, flows);
      }
    }
    return;
  }
  // Every vector of differences in the uneven digits, and every set of the others.
  std::vector<std::int64_t> step(cut_.size(), 0);
  const auto least = [&](std::size_t i) { return is_uneven_[i] ? 1 - cut_[i].count : 0; };
  for (std::size_t i = 0; i < step.size(); ++i) step[i] = least(i);
  while (true) {
    const bool is_same = std::ranges::all_of(step, [](std::int64_t x) { return x == 0; });
    for (std::uint32_t which = is_same ? 1 : 0; which < 1U << cut_.size(); ++which) {
      bool is_even = true;
      for (std::size_t i = 0; i < cut_.size(); ++i) is_even = is_even && ((which >> i & 1U) == 0 || !is_uneven_[i]);
      if (is_even) add_steps(which, step, starts, flows);
    }
    std::size_t i = 0;
    while (i < step.size() && step[i] == -least(i)) step[i] = least(i), ++i;
    if (i == step.size()) return;
    ++step[i];
  }
}

// No member of an instance that starts in the box lies in another unit than its digits of whole units say.
bool TrafficShape::fits_units(const Box& starts) const {
  if (!is_cut_ || cut_.size() + starts.digits().size() > Box::max_digits) return false;
  return std::ranges::all_of(units_, [&](std::int64_t unit) {
    std::int64_t reach = 0;
    for (const auto& digit : cut_) reach += digit.stride % unit != 0 ? (digit.count - 1) * digit.stride : 0;
    for (const auto& digit : starts.digits()) reach += digit.stride % unit != 0 ? (digit.count - 1) * digit.stride : 0;
    return (starts.base + cut_base_) % unit + reach < unit;
  });
}

void TrafficShape::add_each_pair(const Box& start, Flows& flows) const {
  // Every vector of digit differences but zero; two members differ by one of them.
  std::vector<Stride> digits = members_.digits;
  Rank base = members_.base;
  if (const auto normal = normal_boxes(base, digits); normal.size() == 1) {
    digits.assign(normal[0].digits().begin(), normal[0].digits().end());
    base = normal[0].base;
  }
  std::vector<std::int64_t> step(digits.size());
  for (std::size_t i = 0; i < digits.size(); ++i) step[i] = 1 - digits[i].count;
  while (true) {
    if (std::ranges::any_of(step, [](std::int64_t x) { return x != 0; })) {
      std::vector<Stride> sources;
      Rank first = base;
      std::int64_t delta = 0;
      for (std::size_t i = 0; i < digits.size(); ++i) {
        sources.push_back({digits[i].count - std::abs(step[i]), digits[i].stride});
        first += std::max<std::int64_t>(-step[i], 0) * digits[i].stride;
        delta += step[i] * digits[i].stride;
      }
      for (const Box& from : sum_boxes(start, first, sources)) flows.routed.push_back({from, delta});
    }
    std::size_t i = 0;
    while (i < step.size() && step[i] == digits[i].count - 1) step[i] = 1 - digits[i].count, ++i;
    if (i == step.size()) return;
    ++step[i];
  }
}

}  // namespace warploom
