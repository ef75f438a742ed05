// SPDX-License-Identifier: Apache-2.0
// Bundles come and go; rates follow.
#include "network/fabrics/fluid.hpp"

#include <algorithm>
#include <limits>

#include "sim/core/errors.hpp"

namespace warploom {

namespace {

constexpr std::uint64_t pack(std::uint32_t event, std::uint32_t id) {
  return static_cast<std::uint64_t>(event) << 32 | id;
}

}  // namespace

void FluidFabric::prepare(std::span<const Group> groups, std::span<const Traffic> traffic) {
  WARPLOOM_CHECK(!folding_, "a fabric is prepared once");
  std::vector<Traffic> distinct;
  for (const auto& one : traffic) {
    // Groups of equal content, as programs have them for several calls, are one traffic.
    const auto known = std::ranges::find_if(distinct, [&](const Traffic& other) {
      if (other.pattern != one.pattern || (other.group != one.group && groups[other.group] != groups[one.group]))
        return false;
      Traffic same = one;
      same.group = other.group;
      return same == other;
    });
    const auto id = static_cast<std::size_t>(known - distinct.begin());
    if (known == distinct.end()) distinct.push_back(one);
    traffic_ids_.emplace(one, id);
  }
  folding_ = std::make_unique<Folding>(fold(*topology_, groups, distinct));
  filling_ = std::make_unique<WaterFilling>(*folding_);
  on_link_.resize(folding_->links.size());
  link_visited_.assign(folding_->links.size(), 0);
  counters_.link_classes = folding_->links.size();
  counters_.variables = folding_->variables.size();
}

BundleId FluidFabric::start(const Bundle& bundle, std::uint64_t token) {
  const auto traffic = traffic_ids_.find(bundle.traffic);
  WARPLOOM_CHECK(traffic != traffic_ids_.end(), "traffic of group {} was not announced", bundle.traffic.group);
  WARPLOOM_CHECK(bundle.traffic.pattern == FlowPattern::pair || bundle.coupled == is_coupled(bundle.traffic.pattern),
                 "all but pairs are coupled");
  WARPLOOM_CHECK(bundle.bytes_per_flow >= Bytes::zero(), "a bundle of {} bytes", bundle.bytes_per_flow.count());
  ++counters_.bundles;
  BundleId id = 0;
  if (free_bundles_.empty()) {
    id = static_cast<BundleId>(bundles_.size());
    bundles_.emplace_back();
  } else {
    id = free_bundles_.back();
    free_bundles_.pop_back();
  }
  BundleState& state = bundles_[id];
  state.token = token;
  state.flow_limit = bundle.flow_limit.value();
  state.limit = 0;
  state.alike = true;
  state.last_end.reset();
  state.flows.clear();
  state.is_running = true;
  const auto [first, last] = folding_->of_traffic[traffic->second];
  // Instances that cross no link, such as a tree over the nodes of a group in one node, have nothing to move.
  const auto moves = [this](VariableId variable) { return !folding_->variables[variable].links.empty(); };
  state.open = 0;
  for (VariableId variable = first; variable < last; ++variable) state.open += moves(variable) ? 1U : 0U;
  const bool is_empty = state.open == 0 || bundle.bytes_per_flow == Bytes::zero();
  if (is_empty) state.open = 0;
  state.alike = is_empty || state.open == last - first;
  if (is_empty) {
    engine_.at_end_of(engine_.now(), *this, pack(static_cast<std::uint32_t>(Event::empty_bundle), id));
    return id;
  }
  for (VariableId variable = first; variable < last; ++variable) {
    if (!moves(variable)) continue;
    const std::uint32_t slot = take_flow();
    Flow& flow = flows_[slot];
    flow.variable = variable;
    flow.bundle = id;
    flow.is_running = true;
    flow.rate = 0;
    flow.remaining = static_cast<double>(bundle.bytes_per_flow.count());
    flow.updated = engine_.now();
    for (const auto& share : folding_->variables[variable].links) on_link_[share.id].push_back(slot);
    state.flows.push_back(slot);
    dirty_flows_.push_back(slot);
  }
  schedule_solve();
  return id;
}

std::uint32_t FluidFabric::take_flow() {
  if (free_flows_.empty()) {
    flows_.emplace_back();
    return static_cast<std::uint32_t>(flows_.size() - 1);
  }
  const std::uint32_t slot = free_flows_.back();
  free_flows_.pop_back();
  return slot;
}

void FluidFabric::limit(BundleId bundle, Bandwidth rate) {
  BundleState& state = bundles_[bundle];
  WARPLOOM_CHECK(state.is_running, "a limit for a bundle that has ended");
  WARPLOOM_CHECK(rate.value() >= 0, "a negative limit");
  const double before = limit_of(state);
  state.limit = rate.value();
  if (limit_of(state) == before) return;
  for (const auto slot : state.flows) {
    if (flows_[slot].is_running && flows_[slot].bundle == bundle) dirty_flows_.push_back(slot);
  }
  schedule_solve();
}

double FluidFabric::limit_of(const BundleState& bundle) const {
  double least = std::numeric_limits<double>::infinity();
  if (bundle.flow_limit > 0) least = bundle.flow_limit;
  if (bundle.limit > 0) least = std::min(least, bundle.limit);
  return least;
}

void FluidFabric::schedule_solve() {
  if (solve_pending_) return;
  solve_pending_ = true;
  engine_.at_end_of(engine_.now(), *this, pack(static_cast<std::uint32_t>(Event::solve), 0));
}

void FluidFabric::on_event(std::uint64_t payload) {
  const auto id = static_cast<std::uint32_t>(payload);
  switch (static_cast<Event>(payload >> 32)) {
    case Event::solve:
      return solve();
    case Event::flow_end:
      return end_flow(id);
    case Event::empty_bundle:
      return end_bundle(id);
  }
}

// Everything that running flows tie to what has changed.
void FluidFabric::collect_connected() {
  ++visit_;
  connected_.clear();
  const auto visit_flow = [this](std::uint32_t slot) {
    Flow& flow = flows_[slot];
    if (!flow.is_running || flow.visited == visit_) return;
    flow.visited = visit_;
    connected_.push_back(slot);
  };
  const auto visit_link = [&](LinkClassId link) {
    if (link_visited_[link] == visit_) return;
    link_visited_[link] = visit_;
    for (const auto slot : on_link_[link]) visit_flow(slot);
  };
  for (const auto slot : dirty_flows_) visit_flow(slot);
  for (const auto link : dirty_links_) visit_link(link);
  for (std::size_t i = 0; i < connected_.size(); ++i) {
    for (const auto& share : folding_->variables[flows_[connected_[i]].variable].links) visit_link(share.id);
  }
  dirty_flows_.clear();
  dirty_links_.clear();
}

void FluidFabric::solve() {
  solve_pending_ = false;
  collect_connected();
  if (connected_.empty()) return;
  jobs_.clear();
  for (const auto slot : connected_)
    jobs_.push_back({flows_[slot].variable, limit_of(bundles_[flows_[slot].bundle]), 0});
  filling_->solve(jobs_);
  ++counters_.solves;
  counters_.variables_touched += connected_.size();
  for (std::size_t i = 0; i < connected_.size(); ++i) set_rate(connected_[i], jobs_[i].rate);
}

void FluidFabric::set_rate(std::uint32_t slot, double rate) {
  Flow& flow = flows_[slot];
  if (rate == flow.rate) return;
  const Time now = engine_.now();
  if (flow.rate > 0) {
    flow.remaining = std::max(0.0, flow.remaining - flow.rate * (now - flow.updated).seconds());
    engine_.cancel(flow.end);
  }
  flow.updated = now;
  flow.rate = rate;
  const Time left = detail::duration(flow.remaining, rate);
  flow.end = engine_.at(now + left, *this, pack(static_cast<std::uint32_t>(Event::flow_end), slot));
}

void FluidFabric::end_flow(std::uint32_t slot) {
  Flow& flow = flows_[slot];
  flow.is_running = false;
  for (const auto& share : folding_->variables[flow.variable].links) {
    auto& running = on_link_[share.id];
    *std::ranges::find(running, slot) = running.back();
    running.pop_back();
    if (!running.empty()) dirty_links_.push_back(share.id);
  }
  if (!dirty_links_.empty()) schedule_solve();
  const BundleId id = flow.bundle;
  free_flows_.push_back(slot);
  BundleState& bundle = bundles_[id];
  if (bundle.last_end && *bundle.last_end != engine_.now()) bundle.alike = false;
  bundle.last_end = engine_.now();
  if (--bundle.open == 0) end_bundle(id);
}

void FluidFabric::end_bundle(BundleId id) {
  BundleState& bundle = bundles_[id];
  bundle.is_running = false;
  const std::uint64_t token = bundle.token;
  const bool alike = bundle.alike;
  free_bundles_.push_back(id);
  listener_.on_bundle_done(token, alike);
}

std::vector<FluidFabric::Running> FluidFabric::running() const {
  std::vector<Running> result;
  for (const auto& flow : flows_) {
    if (flow.is_running) result.push_back({flow.bundle, flow.variable, flow.rate, limit_of(bundles_[flow.bundle])});
  }
  return result;
}

}  // namespace warploom
