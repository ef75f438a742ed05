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

namespace {

// The plans of both parts' rounds as one step: they run at once.
PlanStep together(PlanStep a, const PlanStep& b) {
  a.latency = std::max(a.latency, b.latency);
  a.bundles.insert(a.bundles.end(), b.bundles.begin(), b.bundles.end());
  return a;
}

}  // namespace

Plan pipeline_plan(const Setting& setting, Protocol protocol) {
  const auto axes = levels_of(setting, 2);
  const std::int64_t in_node = axes[0].count;
  const std::int64_t rounds = axes[1].count - 1;
  const double slice = static_cast<double>(setting.call.bytes.count()) / static_cast<double>(setting.ranks());
  const CollectiveKind kind = setting.call.kind;
  const auto pass = [&](bool reduces) {
    const Round between{FlowPattern::ring, 0, 1, rounds, 1, reduces};
    const Round inside{FlowPattern::all_pairs, 0, 1, rounds, in_node - 1, reduces};
    const Round last{FlowPattern::all_pairs, 0, 1, 1, in_node - 1, reduces};
    const Plan outer = round_plan(setting, protocol, {{{between}, axes[1], slice}});
    const Plan inner = round_plan(setting, protocol, {{{inside}, axes[0], slice}});
    Plan end = round_plan(setting, protocol, {{{last}, axes[0], slice}});
    Plan plan = outer;
    plan.steps.clear();
    plan.hbm_bytes_per_wire_byte = inner.hbm_bytes_per_wire_byte;
    const Time start = start_time(protocol_of(setting.library, protocol),
                                  channels_for(setting.call.bytes, most_channels(setting),
                                               protocol_of(setting.library, protocol), setting.ranks()));
    for (PlanStep& step : end.steps) step.latency -= start;
    if (outer.steps.empty() || inner.steps.empty()) return outer;
    const PlanStep both = together(outer.steps.front(), inner.steps.front());
    if (reduces) {
      plan.steps = {end.steps.front(), both};
      plan.steps.front().latency += start;
      plan.steps.back().latency -= start;
    } else {
      plan.steps = {both, end.steps.front()};
    }
    return plan;
  };
  if (kind != CollectiveKind::all_reduce) return pass(kind == CollectiveKind::reduce_scatter);
  Plan plan = pass(true);
  Plan gather = pass(false);
  if (gather.steps.size() == 2 && plan.steps.size() == 2) {
    const ProtocolSpec& spec = protocol_of(setting.library, protocol);
    gather.steps.front().latency -= start_time(
        spec, channels_for(setting.call.bytes, most_channels(setting), spec, setting.ranks()));
    plan.steps.insert(plan.steps.end(), gather.steps.begin(), gather.steps.end());
    plan.hbm_bytes_per_wire_byte = (plan.hbm_bytes_per_wire_byte + gather.hbm_bytes_per_wire_byte) / 2;
  }
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
        if (step + 1 < nodes)
          schedule.transfers.push_back({step, rank, (node + 1) % nodes * in_node + member, slice});
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
