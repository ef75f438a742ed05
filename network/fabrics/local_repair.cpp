// SPDX-License-Identifier: Apache-2.0
// Who may change, filled and verified.
#include "network/fabrics/local_repair.hpp"

#include <algorithm>

#include "sim/core/errors.hpp"

namespace warploom {

namespace {

// Sums of a background drift by rounding; a link this close to full is counted flow by flow.
constexpr double nearly_full = 1 - 1e-9;
// Links with no more flows than this are counted flow by flow at once.
constexpr std::size_t short_list = 16;
// Where who joins draws in others one after another, solve all that is connected instead.
constexpr int most_extensions = 24;

}  // namespace

LocalRepair::LocalRepair(const Folding& folding, std::size_t component_below)
    : folding_(folding),
      filling_(folding),
      units_per_flow_(static_cast<double>(folding.units_per_flow)),
      component_below_(component_below),
      links_(folding.links.size()) {}

LocalRepair::FlowId LocalRepair::add(VariableId variable, double limit) {
  FlowId id = 0;
  if (free_.empty()) {
    id = static_cast<FlowId>(flows_.size());
    flows_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  Flow& flow = flows_[id];
  flow.variable = variable;
  flow.is_running = true;
  flow.limit = limit;
  flow.rate = 0;
  flow.stopped_at = no_class;
  flow.places.clear();
  const auto& shares = folding_.variables[variable].links;
  for (std::uint32_t i = 0; i < shares.size(); ++i) {
    auto& flows = links_[shares[i].id].flows;
    flow.places.push_back(static_cast<std::uint32_t>(flows.size()));
    flows.push_back({id, i});
  }
  ++running_;
  dirty_flows_.push_back(id);
  return id;
}

void LocalRepair::unstop(Flow& flow) {
  if (flow.stopped_at == no_class) return;
  auto& stopped = links_[flow.stopped_at].stopped;
  stopped[flow.place] = stopped.back();
  flows_[stopped[flow.place]].place = flow.place;
  stopped.pop_back();
  flow.stopped_at = no_class;
}

void LocalRepair::remove(FlowId id) {
  Flow& flow = flows_[id];
  WARPLOOM_CHECK(flow.is_running, "flow {} ended twice", id);
  flow.is_running = false;
  --running_;
  unstop(flow);
  const auto& shares = folding_.variables[flow.variable].links;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    Link& link = links_[shares[i].id];
    link.flows[flow.places[i]] = link.flows.back();
    const Crossing moved = link.flows[flow.places[i]];
    flows_[moved.flow].places[moved.index] = flow.places[i];
    link.flows.pop_back();
    link.load -= bandwidth(shares[i], flow.rate);
    if (link.flows.empty()) {
      link.load = 0;
    } else {
      dirty_links_.push_back(shares[i].id);
    }
  }
  free_.push_back(id);
}

void LocalRepair::set_limit(FlowId id, double limit) {
  flows_[id].limit = limit;
  dirty_flows_.push_back(id);
}

void LocalRepair::take(FlowId id) {
  Flow& flow = flows_[id];
  if (!flow.is_running || flow.visited == visit_) return;
  flow.visited = visit_;
  taken_.push_back(id);
}

// Everything that running flows tie to what has changed.
void LocalRepair::collect_connected() {
  const auto visit_link = [this](LinkClassId id) {
    Link& link = links_[id];
    if (link.visited == visit_) return;
    link.visited = visit_;
    for (const Crossing& crossing : link.flows) take(crossing.flow);
  };
  for (const FlowId flow : dirty_flows_) take(flow);
  for (const LinkClassId link : dirty_links_) visit_link(link);
  for (std::size_t i = 0; i < taken_.size(); ++i) {
    for (const Share& share : folding_.variables[flows_[taken_[i]].variable].links) visit_link(share.id);
  }
}

void LocalRepair::collect_bottlenecked() {
  for (const FlowId flow : dirty_flows_) take(flow);
  for (const LinkClassId link : dirty_links_) {
    for (const FlowId flow : links_[link].stopped) take(flow);
  }
}

std::span<const LocalRepair::FlowId> LocalRepair::solve() {
  ++visit_;
  taken_.clear();
  background_.clear();
  const bool is_small = running_ < component_below_;
  if (is_small) {
    collect_connected();
  } else {
    collect_bottlenecked();
  }
  dirty_flows_.clear();
  dirty_links_.clear();
  if (taken_.empty()) return {};
  if (is_small) {
    jobs_.clear();
    for (const FlowId flow : taken_) jobs_.push_back({flows_[flow].variable, flows_[flow].limit});
    filling_.solve(jobs_);
    ++fills_;
  } else {
    repair();
  }
  commit();
  return taken_;
}

// Links of A that were not known yet; those at which others were stopped are counted flow by flow from the start.
void LocalRepair::open_links() {
  for (std::size_t i = 0; i < taken_.size(); ++i) {
    for (const Share& share : folding_.variables[flows_[taken_[i]].variable].links) {
      Link& link = links_[share.id];
      if (link.visited == visit_) continue;
      link.visited = visit_;
      link.listed = 0;
      touched_.push_back(share.id);
    }
  }
  for (const LinkClassId id : touched_) {
    const Link& link = links_[id];
    if (link.listed == visit_) continue;
    const bool others_stop = std::ranges::any_of(link.stopped, [&](FlowId f) { return flows_[f].visited != visit_; });
    if (others_stop || link.flows.size() <= short_list) list_background(id);
  }
}

void LocalRepair::list_background(LinkClassId id) {
  Link& link = links_[id];
  link.listed = visit_;
  for (const Crossing& crossing : link.flows) {
    Flow& flow = flows_[crossing.flow];
    if (flow.background == visit_) continue;
    flow.background = visit_;
    background_.push_back(crossing.flow);
  }
}

void LocalRepair::repair() {
  touched_.clear();
  open_links();
  int round = 0;
  do {
    if (++round == most_extensions) take_all_connected();
    // A itself may be among what links have listed.
    std::erase_if(background_, [this](FlowId flow) { return flows_[flow].visited == visit_; });
    jobs_.clear();
    for (const FlowId flow : taken_) jobs_.push_back({flows_[flow].variable, flows_[flow].limit});
    for (const FlowId flow : background_)
      jobs_.push_back({flows_[flow].variable, flows_[flow].rate, 0, no_class, true});
    filling_.begin();
    for (const LinkClassId id : touched_) {
      if (links_[id].listed == visit_) filling_.open(id);
    }
    // The others carry what they carry, less A.
    for (const LinkClassId id : touched_) {
      if (links_[id].listed != visit_)
        filling_.open_beside(id, links_[id].load, folding_.links[id].capacity * nearly_full);
    }
    for (const FlowId flow : taken_) {
      for (const Share& share : folding_.variables[flows_[flow].variable].links)
        filling_.release(share.id, bandwidth(share, flows_[flow].rate));
    }
    filling_.fill(jobs_);
    ++fills_;
  } while (make_exact() || extend());
}

// Links that filled up although their background was but a sum.
bool LocalRepair::make_exact() {
  bool is_new = false;
  for (const LinkClassId id : touched_) {
    if (links_[id].listed == visit_ || filling_.full_at(id) == WaterFilling::unlimited) continue;
    list_background(id);
    is_new = true;
  }
  return is_new;
}

// Who of the background lost its bottleneck joins A.
bool LocalRepair::extend() {
  const std::size_t before = taken_.size();
  for (std::size_t i = 0; i < background_.size(); ++i) {
    const FlowId id = background_[i];
    const Flow& flow = flows_[id];
    const bool is_slowed = jobs_[before + i].rate != flow.rate;
    const bool is_freed = flow.stopped_at != no_class && links_[flow.stopped_at].visited == visit_ &&
                          filling_.full_at(flow.stopped_at) != flow.rate;
    if (is_slowed || is_freed) take(id);
  }
  if (taken_.size() == before) return false;
  open_links();
  return true;
}

void LocalRepair::take_all_connected() {
  for (std::size_t i = 0; i < taken_.size(); ++i) {
    for (const Share& share : folding_.variables[flows_[taken_[i]].variable].links) {
      Link& link = links_[share.id];
      if (link.swept == visit_) continue;
      link.swept = visit_;
      for (const Crossing& crossing : link.flows) take(crossing.flow);
    }
  }
  open_links();
}

void LocalRepair::commit() {
  for (std::size_t i = 0; i < taken_.size(); ++i) {
    const FlowId id = taken_[i];
    Flow& flow = flows_[id];
    unstop(flow);
    for (const Share& share : folding_.variables[flow.variable].links)
      links_[share.id].load += bandwidth(share, jobs_[i].rate) - bandwidth(share, flow.rate);
    flow.rate = jobs_[i].rate;
    flow.stopped_at = jobs_[i].stopped_at;
    if (flow.stopped_at == no_class) continue;
    auto& stopped = links_[flow.stopped_at].stopped;
    flow.place = static_cast<std::uint32_t>(stopped.size());
    stopped.push_back(id);
  }
}

}  // namespace warploom
