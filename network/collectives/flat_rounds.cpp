// SPDX-License-Identifier: Apache-2.0
// Flat or in levels, as the library works.
#include "network/collectives/flat_rounds.hpp"

#include "network/collectives/pace.hpp"
#include "network/collectives/rounds/round_algorithms.hpp"

namespace warploom::detail {

bool is_possible_in_rounds(const RoundAlgorithm& /*algorithm*/, CollectiveKind /*kind*/, const Setting& setting,
                           Protocol protocol) {
  return protocol_of(setting.library, protocol).enabled;
}

Plan plan_in_rounds(const RoundAlgorithm& algorithm, CollectiveKind kind, const Setting& setting, Protocol protocol) {
  const LevelsSpec& spec = setting.library.levels;
  const bool is_in_levels = spec.node != LevelAlgorithm::none && kind != CollectiveKind::all_to_all;
  if (is_in_levels) {
    auto axes = spec.beyond == LevelAlgorithm::none ? std::vector<Axis>() : levels_of(setting, 3);
    if (axes.empty()) axes = levels_of(setting, 2);
    if (!axes.empty()) {
      std::vector<Level> levels{{axes[0], &round_algorithm(spec.node)}, {axes[1], &algorithm}};
      if (axes.size() == 3) levels.push_back({axes[2], &round_algorithm(spec.beyond)});
      return round_plan(setting, protocol, phases_of(levels, kind, setting.call.bytes));
    }
  }
  const double piece = static_cast<double>(setting.call.bytes.count()) / static_cast<double>(setting.ranks());
  return round_plan(setting, protocol, {{algorithm.rounds(kind, setting.ranks()), {}, piece}});
}

}  // namespace warploom::detail
