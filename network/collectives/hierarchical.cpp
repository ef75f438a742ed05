// SPDX-License-Identifier: Apache-2.0
// Plans of hierarchical collectives.
#include "network/collectives/hierarchical.hpp"

#include "network/collectives/pace.hpp"
#include "network/collectives/rounds/round_algorithms.hpp"

namespace warploom::detail {

std::vector<Level> hierarchy(const std::vector<Axis>& axes, CollectiveKind kind) {
  const RoundAlgorithm& algorithm =
      round_algorithm(kind == CollectiveKind::all_to_all ? LevelAlgorithm::mesh : LevelAlgorithm::ring);
  std::vector<Level> levels;
  for (const Axis& axis : axes) levels.push_back({axis, &algorithm});
  return levels;
}

bool is_hierarchy_possible(const Setting& setting, Protocol protocol, int depth) {
  return protocol_of(setting.library, protocol).enabled && !levels_of(setting, depth).empty();
}

Plan hierarchical_plan(const Setting& setting, Protocol protocol, int depth) {
  const CollectiveKind kind = setting.call.kind;
  return round_plan(setting, protocol, phases_of(hierarchy(levels_of(setting, depth), kind), kind, setting.call.bytes));
}

}  // namespace warploom::detail
