// SPDX-License-Identifier: Apache-2.0
// Plays a plan alone.
#include "network/collective_estimate.hpp"

#include <array>

#include "network/collectives/moe/moe.hpp"
#include "network/play_plans.hpp"

namespace warploom {

namespace {

PlayedCalls play(const Network& network, const Plan& plan, const Group& group) {
  const PlannedCall alone{plan, group, Time::zero()};
  return play_plans(network.fabric, std::span(&alone, 1), network.progress);
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
  PlayedCalls played = play(network, plan, group);
  estimate.duration = played.durations[0];
  estimate.packets = std::move(played.packets);
  estimate.bottleneck = played.bottleneck;
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
                                   is_chosen ? estimate.duration : play(network, plan, group).durations[0], is_chosen});
  }
  return estimate;
}

ConcurrentEstimate estimate_concurrent(const Network& network, std::span<const ConcurrentCall> calls) {
  ConcurrentEstimate estimate;
  std::vector<PlannedCall> planned_calls;
  for (const ConcurrentCall& one : calls) {
    estimate.alone.push_back(estimate_chosen(network, one.call, one.group, one.choice));
    planned_calls.push_back({planned(network, one.call, one.group, one.choice), one.group, one.start});
  }
  PlayedCalls played = play_plans(network.fabric, planned_calls, network.progress);
  estimate.together = std::move(played.durations);
  estimate.end = played.end;
  estimate.bottleneck = std::move(played.bottleneck);
  estimate.packets = std::move(played.packets);
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
    case CollectiveKind::gather:
    case CollectiveKind::scatter:
    case CollectiveKind::moe_dispatch:
    case CollectiveKind::moe_combine:
      return (n - 1) / n;
    case CollectiveKind::broadcast:
    case CollectiveKind::send_recv:
    case CollectiveKind::reduce:
      return 1;
  }
  return 1;
}

std::optional<CollectiveKind> collective_kind(std::string_view text) {
  constexpr std::array kinds{CollectiveKind::all_reduce,   CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
                             CollectiveKind::broadcast,    CollectiveKind::all_to_all, CollectiveKind::send_recv,
                             CollectiveKind::reduce,       CollectiveKind::gather,     CollectiveKind::scatter,
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
