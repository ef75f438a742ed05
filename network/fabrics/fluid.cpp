// SPDX-License-Identifier: Apache-2.0
// Bundles come and go; rates follow.
#include "network/fabrics/fluid.hpp"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "network/fabrics/graph_fold.hpp"
#include "network/graph/routing_policy.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

namespace {

void mix(std::uint64_t& hash, std::int64_t value) {
  hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15ULL;
  hash ^= hash >> 29;
}

void mix(std::uint64_t& hash, const RankBox& box) {
  mix(hash, box.base);
  for (const Stride& digit : box.digits) mix(hash, digit.count), mix(hash, digit.stride);
}

std::uint64_t hash_of(FlowPattern pattern, const Group& group) {
  auto hash = static_cast<std::uint64_t>(pattern);
  mix(hash, group.members);
  for (const RankBox& box : group.instances) mix(hash, box);
  return hash;
}

// One way a queue pair or an even split; which ways there are is the router's.
PathChoice paths_of(const RoutingSpec& routing) {
  const bool is_split = routing.policy == RoutingPolicy::spray || routing.policy == RoutingPolicy::all_paths;
  return {is_split ? PathChoice::Kind::even_split : PathChoice::Kind::hashed, routing.seed, routing.queue_pairs};
}

constexpr std::uint64_t pack(std::uint32_t event, std::uint32_t id) {
  return static_cast<std::uint64_t>(event) << 32 | id;
}

}  // namespace

FoldTraffic folder_of(std::shared_ptr<const Topology> topology) {
  if (topology->tiered() != nullptr) {
    return [topology = std::move(topology)](std::span<const Group> groups, std::span<const Traffic> traffic) {
      return fold(*topology, groups, traffic);
    };
  }
  return [topology = std::move(topology)](std::span<const Group> groups, std::span<const Traffic> traffic) {
    const NetworkGraph graph = topology->graph();
    GraphFoldOptions options;
    options.node_size = topology->node_size();
    options.background = topology->background();
    options.paths = paths_of(topology->routing());
    return fold_graph(graph, *topology->router(graph), groups, traffic, options);
  };
}

void FluidFabric::prepare(std::span<const Group> groups, std::span<const Traffic> traffic) {
  WARPLOOM_CHECK(!folding_, "a fabric is prepared once");
  std::vector<Traffic> distinct;
  // Groups of equal content, as programs have them for several calls, are one traffic.
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> known;
  for (const auto& one : traffic) {
    if (traffic_ids_.contains(one)) continue;
    WARPLOOM_CHECK(one.group < groups.size(), "traffic of group {} of {}", one.group, groups.size());
    auto& alike = known[hash_of(one.pattern, groups[one.group])];
    const auto same = std::ranges::find_if(alike, [&](std::size_t id) {
      Traffic other = distinct[id];
      const bool is_same_group = groups[other.group] == groups[one.group];
      other.group = one.group;
      return is_same_group && other == one;
    });
    const std::size_t id = same == alike.end() ? distinct.size() : *same;
    if (same == alike.end()) {
      alike.push_back(id);
      distinct.push_back(one);
    }
    traffic_ids_.emplace(one, id);
  }
  folding_ = std::make_unique<Folding>(fold_(groups, distinct));
  rates_ = std::make_unique<LocalRepair>(*folding_);
  carried_.assign(folding_->links.size(), 0);
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
  state.bytes_per_flow = static_cast<double>(bundle.bytes_per_flow.count());
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
    const std::uint32_t slot = rates_->add(variable, limit_of(state));
    if (slot >= flows_.size()) flows_.resize(slot + 1);
    Flow& flow = flows_[slot];
    flow.variable = variable;
    flow.bundle = id;
    flow.rate = 0;
    flow.remaining = state.bytes_per_flow;
    flow.updated = engine_.now();
    state.flows.push_back(slot);
  }
  schedule_solve();
  return id;
}

void FluidFabric::limit(BundleId bundle, Bandwidth rate) {
  BundleState& state = bundles_[bundle];
  WARPLOOM_CHECK(state.is_running, "a limit for a bundle that has ended");
  WARPLOOM_CHECK(rate.value() >= 0, "a negative limit");
  const double before = limit_of(state);
  state.limit = rate.value();
  if (limit_of(state) == before) return;
  for (const auto slot : state.flows) {
    if (rates_->is_running(slot) && flows_[slot].bundle == bundle) rates_->set_limit(slot, limit_of(state));
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

void FluidFabric::solve() {
  solve_pending_ = false;
  const auto changed = rates_->solve();
  if (changed.empty()) return;
  ++counters_.solves;
  counters_.variables_touched += changed.size();
  for (const auto slot : changed) set_rate(slot, rates_->rate(slot));
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
  rates_->remove(slot);
  if (rates_->has_changes()) schedule_solve();
  const BundleId id = flows_[slot].bundle;
  BundleState& bundle = bundles_[id];
  for (const Share& share : folding_->variables[flows_[slot].variable].links)
    carried_[share.id] += static_cast<double>(share.units) * bundle.bytes_per_flow;
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

BusiestLink FluidFabric::busiest_link(Time duration) const {
  BusiestLink busiest;
  if (!folding_ || duration <= Time::zero()) return busiest;
  for (std::size_t i = 0; i < carried_.size(); ++i) {
    const FoldedLink& link = folding_->links[i];
    const double bytes = carried_[i] / static_cast<double>(folding_->units_per_flow);
    const double load = bytes / (link.capacity * duration.seconds());
    // Sums of the same in another order are no difference.
    if (load > busiest.load * (1 + 1e-9)) busiest = {folding_->kinds[link.kind], load};
  }
  return busiest;
}

std::vector<FluidFabric::Running> FluidFabric::running() const {
  std::vector<Running> result;
  for (std::uint32_t slot = 0; slot < flows_.size(); ++slot) {
    const Flow& flow = flows_[slot];
    if (rates_->is_running(slot))
      result.push_back({flow.bundle, flow.variable, flow.rate, limit_of(bundles_[flow.bundle])});
  }
  return result;
}

}  // namespace warploom
