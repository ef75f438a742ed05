// SPDX-License-Identifier: Apache-2.0
// Levels from a group's place in the network, and what each level moves.
#include "network/collectives/levels.hpp"

#include <algorithm>

#include "network/collectives/ring_schedule.hpp"
#include "network/fabrics/axis.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

namespace {

// Members that share a unit with the first, if all units have as many and are filled one after the other; else 0.
std::int64_t members_of_unit(const Setting& setting, std::int64_t span) {
  const Rank start = setting.group.instances.front().base;
  const std::int64_t members = setting.ranks();
  const auto unit = [&](std::int64_t member) { return setting.group.rank(start, member) / span; };
  std::int64_t count = 1;
  while (count < members && unit(count) == unit(0)) ++count;
  if (members % count != 0) return 0;
  for (std::int64_t member = count; member < members; ++member) {
    if ((unit(member) == unit(member - 1)) != (member % count != 0)) return 0;
  }
  return count;
}

}  // namespace

std::vector<Axis> levels_of(const Setting& setting, int depth) {
  if (setting.profile.in_node() || !setting.profile.alike) return {};
  const std::int64_t members = setting.ranks();
  const std::int64_t in_node = members_of_unit(setting, setting.topology.node_size());
  if (in_node < 2 || in_node == members) return {};
  std::vector<Axis> levels{{1, in_node}};
  if (depth == 3) {
    if (setting.topology.tiered() == nullptr) return {};
    const auto tiers = setting.topology.tiered()->tiers();
    for (std::size_t tier = 2; tier < tiers.size() && levels.size() == 1; ++tier) {
      if (tiers[tier].span <= setting.topology.node_size()) continue;
      const std::int64_t in_unit = members_of_unit(setting, tiers[tier].span);
      if (in_unit > in_node && in_unit < members && in_unit % in_node == 0)
        levels.push_back({in_node, in_unit / in_node});
    }
    if (levels.size() == 1) return {};
  }
  const std::int64_t below = levels.back().stride * levels.back().count;
  levels.push_back({below, members / below});
  for (const Axis& axis : levels) {
    if (!lines_along(axis, setting.group)) return {};
  }
  return levels;
}

std::vector<Axis> levels_for_proof(int ranks, int depth) {
  std::vector<Axis> levels;
  std::int64_t stride = 1;
  for (int level = 0; level < depth; ++level) {
    const auto left = ranks / stride;
    const std::int64_t count = level + 1 == depth ? left : node_of_schedule(static_cast<int>(left));
    levels.push_back({stride, count});
    stride *= count;
  }
  return levels;
}

namespace {

struct Pass {
  std::size_t level = 0;
  CollectiveKind kind = CollectiveKind::reduce_scatter;
};

std::vector<Pass> passes_of(std::size_t levels, CollectiveKind kind) {
  std::vector<Pass> passes;
  const bool is_whole = kind == CollectiveKind::all_reduce;
  if (kind == CollectiveKind::all_to_all) {
    for (std::size_t i = 0; i < levels; ++i) passes.push_back({i, kind});
    return passes;
  }
  if (kind == CollectiveKind::reduce_scatter || is_whole) {
    for (std::size_t i = 0; i + (is_whole ? 1 : 0) < levels; ++i) passes.push_back({i, CollectiveKind::reduce_scatter});
  }
  if (is_whole) passes.push_back({levels - 1, CollectiveKind::all_reduce});
  if (kind == CollectiveKind::all_gather || is_whole) {
    for (std::size_t i = levels - (is_whole ? 1 : 0); i-- > 0;) passes.push_back({i, CollectiveKind::all_gather});
  }
  return passes;
}

}  // namespace

std::vector<Phase> phases_of(const std::vector<Level>& levels, CollectiveKind kind, Bytes bytes) {
  std::vector<Phase> phases;
  for (const Pass& pass : passes_of(levels.size(), kind)) {
    const Level& level = levels[pass.level];
    const std::int64_t members = level.axis.count;
    if (members < 2) continue;
    const bool is_exchange = kind == CollectiveKind::all_to_all;
    const auto parts = static_cast<double>((is_exchange ? 1 : level.axis.stride) * members);
    phases.push_back(
        {level.algorithm->rounds(pass.kind, members), level.axis, static_cast<double>(bytes.count()) / parts});
  }
  return phases;
}

namespace {

// The place of a rank on a level.
int place(int rank, const Axis& axis) { return static_cast<int>(rank / axis.stride % axis.count); }

// Which chunks are where when a pass begins.
struct Holdings {
  const std::vector<Level>& levels;
  std::vector<bool> done;  // levels that an all-to-all has done, or on which buffers are cut by now
  int ranks = 0;
};

// A rank on a line holds chunk c of a reduction or gathering if they agree on all levels on which buffers are cut.
bool holds(const Holdings& holdings, std::size_t on, int rank, int chunk) {
  for (std::size_t i = 0; i < holdings.levels.size(); ++i) {
    const Axis& axis = holdings.levels[i].axis;
    if (i != on && holdings.done[i] && place(rank, axis) != place(chunk, axis)) return false;
  }
  return true;
}

// The same of the block that goes from `source` to `target`.
bool holds(const Holdings& holdings, std::size_t on, int rank, int source, int target) {
  for (std::size_t i = 0; i < holdings.levels.size(); ++i) {
    const Axis& axis = holdings.levels[i].axis;
    if (i != on && place(rank, axis) != place(holdings.done[i] ? target : source, axis)) return false;
  }
  return true;
}

void add_pass(Schedule& schedule, const Holdings& holdings, const Pass& pass, int first_step) {
  const auto& [axis, algorithm] = holdings.levels[pass.level];
  const int members = static_cast<int>(axis.count);
  const int ranks = holdings.ranks;
  const Schedule line = algorithm->schedule(pass.kind, members);
  for (int first = 0; first < ranks; ++first) {
    if (place(first, axis) != 0) continue;
    for (const Transfer& t : line.transfers) {
      const int from = first + t.from * static_cast<int>(axis.stride);
      const int to = first + t.to * static_cast<int>(axis.stride);
      const auto add = [&](int chunk) {
        schedule.transfers.push_back({first_step + t.step, from, to, chunk, t.reduce});
      };
      if (pass.kind != CollectiveKind::all_to_all) {
        for (int chunk = 0; chunk < ranks; ++chunk) {
          if (place(chunk, axis) == t.chunk && holds(holdings, pass.level, first, chunk)) add(chunk);
        }
        continue;
      }
      for (int source = 0; source < ranks; ++source) {
        if (place(source, axis) != t.chunk / members) continue;
        for (int target = 0; target < ranks; ++target) {
          if (place(target, axis) == t.chunk % members && holds(holdings, pass.level, first, source, target))
            add(source * ranks + target);
        }
      }
    }
  }
}

}  // namespace

Schedule level_schedule(const std::vector<Level>& levels, CollectiveKind kind, int ranks) {
  const bool is_exchange = kind == CollectiveKind::all_to_all;
  Schedule schedule{ranks, is_exchange ? ranks * ranks : ranks, {}};
  Holdings holdings{levels, std::vector<bool>(levels.size(), kind == CollectiveKind::all_gather), ranks};
  int steps = 0;
  for (const Pass& pass : passes_of(levels.size(), kind)) {
    if (levels[pass.level].axis.count < 2) continue;
    add_pass(schedule, holdings, pass, steps);
    steps = std::max(steps, step_count(schedule));
    if (pass.kind == CollectiveKind::reduce_scatter || is_exchange) holdings.done[pass.level] = true;
    if (pass.kind == CollectiveKind::all_gather) holdings.done[pass.level] = false;
  }
  return schedule;
}

}  // namespace warploom
