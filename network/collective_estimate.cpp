// SPDX-License-Identifier: Apache-2.0
// Plays a plan alone.
#include "network/collective_estimate.hpp"

#include <array>

#include "network/collectives/moe/moe.hpp"
#include "sim/core/engine.hpp"

namespace warploom {

namespace {

struct Silent : BundleListener {
  void on_bundle_done(std::uint64_t /*token*/, bool /*alike*/) override {}
};

Time play(const Network& network, const Plan& plan, Group group) {
  Engine engine;
  Silent listener;
  const auto fabric = network.fabric(engine, listener);
  std::vector<Traffic> traffic;
  std::vector<Bundle> bundles;
  Time latency = Time::zero();
  for (const auto& step : plan.steps) {
    for (const auto& bundle : step.bundles) {
      traffic.push_back(bundle.traffic);
      traffic.back().group = 0;
    }
  }
  fabric->prepare(std::span(&group, 1), traffic);
  for (const auto& step : plan.steps) {
    latency += step.latency;
    for (Bundle bundle : step.bundles) {
      bundle.traffic.group = 0;
      fabric->start(bundle, 0);
    }
    engine.run();
  }
  return latency + engine.now();
}

Plan planned(const Network& network, const Call& call, const Group& group, const CollectiveChoice& choice) {
  if ((choice.algorithm.empty() && choice.protocol.empty()) || group.member_count() < 2 || is_moe(call.kind))
    return network.planner->plan(call, group);
  const LibrarySpec& library = network.planner->library();
  const CollectiveChoice wanted{choice.algorithm.empty() ? library.algorithm : choice.algorithm,
                                choice.protocol.empty() ? library.protocol : choice.protocol};
  return network.planner->plan(call, group, network.planner->choose(call, group, wanted));
}

}  // namespace

CollectiveEstimate estimate_chosen(const Network& network, const Call& call, const Group& group,
                                   const CollectiveChoice& choice) {
  CollectiveEstimate estimate;
  const Plan plan = planned(network, call, group, choice);
  estimate.algorithm = plan.algorithm;
  estimate.protocol = plan.protocol;
  estimate.channels = plan.sms;
  estimate.duration = play(network, plan, group);
  if (estimate.duration > Time::zero()) {
    estimate.bus_bandwidth = Bandwidth(static_cast<double>(call.bytes.count()) / estimate.duration.seconds() *
                                       bus_factor(call.kind, group.member_count()));
  }
  return estimate;
}

CollectiveEstimate estimate_collective(const Network& network, const Call& call, const Group& group,
                                       const CollectiveChoice& choice) {
  CollectiveEstimate estimate = estimate_chosen(network, call, group, choice);
  if (call.moe) return estimate;  // nothing else could be done
  for (const auto& option : network.planner->options(call, group)) {
    const Plan plan = network.planner->plan(call, group, option);
    const bool is_chosen = plan.algorithm == estimate.algorithm && plan.protocol == estimate.protocol;
    estimate.candidates.push_back({plan.algorithm, plan.protocol, option.library_estimate,
                                   is_chosen ? estimate.duration : play(network, plan, group), is_chosen});
  }
  return estimate;
}

double bus_factor(CollectiveKind kind, std::int64_t ranks) {
  const auto n = static_cast<double>(ranks);
  switch (kind) {
    case CollectiveKind::all_reduce:
      return 2 * (n - 1) / n;
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_to_all:
    case CollectiveKind::moe_dispatch:
    case CollectiveKind::moe_combine:
      return (n - 1) / n;
    case CollectiveKind::broadcast:
    case CollectiveKind::send_recv:
      return 1;
  }
  return 1;
}

std::optional<CollectiveKind> collective_kind(std::string_view text) {
  constexpr std::array kinds{CollectiveKind::all_reduce,   CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
                             CollectiveKind::broadcast,    CollectiveKind::all_to_all, CollectiveKind::send_recv,
                             CollectiveKind::moe_dispatch, CollectiveKind::moe_combine};
  for (const auto kind : kinds) {
    if (text == name(kind)) return kind;
  }
  return std::nullopt;
}

Group first_ranks(std::int64_t ranks) {
  Group group;
  group.members.digits = {{ranks, 1}};
  group.instances = {{0, {}}};
  return group;
}

}  // namespace warploom
