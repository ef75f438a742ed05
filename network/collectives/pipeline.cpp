// SPDX-License-Identifier: Apache-2.0
// Plan and schedule of the pipeline.
#include "network/collectives/pipeline.hpp"

#include <algorithm>

#include "network/collectives/pace.hpp"
#include "network/collectives/ring_schedule.hpp"

namespace warploom::detail {

bool is_pipeline_possible(const Setting& setting, Protocol protocol) {
  return protocol_of(setting.library, protocol).enabled && !levels_of(setting, 2).empty();
}

Plan pipeline_plan(const Setting& setting, Protocol protocol) {
  const auto axes = levels_of(setting, 2);
  const std::int64_t others = axes[0].count - 1;
  const std::int64_t rounds = axes[1].count - 1;
  const double slice = static_cast<double>(setting.call.bytes.count()) / static_cast<double>(setting.ranks());
  const auto pass = [&](bool reduces) {
    PlanStep both = round_step(setting, protocol, {FlowPattern::ring, 0, 1, rounds, 1, reduces}, {{}, axes[1], slice});
    const PlanStep inside =
        round_step(setting, protocol, {FlowPattern::all_pairs, 0, 1, rounds, others, reduces}, {{}, axes[0], slice});
    both.latency = std::max(both.latency, inside.latency);  // they run at once
    both.bundles.insert(both.bundles.end(), inside.bundles.begin(), inside.bundles.end());
    const PlanStep alone =
        round_step(setting, protocol, {FlowPattern::all_pairs, 0, 1, 1, others, reduces}, {{}, axes[0], slice});
    return reduces ? std::vector{alone, both} : std::vector{both, alone};
  };
  const CollectiveKind kind = setting.call.kind;
  const bool is_whole = kind == CollectiveKind::all_reduce;
  Plan plan = empty_plan(setting, protocol, is_whole ? 0.5 : kind == CollectiveKind::reduce_scatter ? 1 : 0);
  plan.steps = pass(kind != CollectiveKind::all_gather);
  if (is_whole) {
    const auto back = pass(false);
    plan.steps.insert(plan.steps.end(), back.begin(), back.end());
  }
  plan.steps.front().latency += call_start(setting, protocol);
  return plan;
}

namespace {

Schedule gathering(int ranks) {
  const int in_node = node_of_schedule(ranks);
  const int nodes = ranks / in_node;
  Schedule schedule{ranks, ranks, {}};
  for (int step = 0; step < nodes; ++step) {
    for (int node = 0; node < nodes; ++node) {
      for (int member = 0; member < in_node; ++member) {
        const int rank = node * in_node + member;
        const int slice = (node - step + nodes) % nodes * in_node + member;
        if (step + 1 < nodes) schedule.transfers.push_back({step, rank, (node + 1) % nodes * in_node + member, slice});
        for (int other = 0; other < in_node; ++other) {
          if (other != member) schedule.transfers.push_back({step, rank, node * in_node + other, slice});
        }
      }
    }
  }
  return schedule;
}

}  // namespace

Schedule pipeline_schedule(CollectiveKind kind, int ranks) {
  const Schedule gather = gathering(ranks);
  if (kind == CollectiveKind::all_gather) return gather;
  Schedule schedule = undone(gather);
  for (Transfer& transfer : schedule.transfers) transfer.reduce = true;
  if (kind == CollectiveKind::reduce_scatter) return schedule;
  const int steps = step_count(schedule);
  for (Transfer transfer : gather.transfers) {
    transfer.step += steps;
    schedule.transfers.push_back(transfer);
  }
  return schedule;
}

}  // namespace warploom::detail
