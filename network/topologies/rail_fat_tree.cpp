// SPDX-License-Identifier: Apache-2.0
// What a rail-optimised tree needs beyond a plain one.
#include "network/topologies/rail_fat_tree.hpp"

#include <fmt/format.h>

namespace warploom {

void RailFatTree::Spec::check(const Spec& spec, const ConfigValue& at, Diagnostics& diagnostics) {
  const std::int64_t cards = rails_of(spec.node, spec.nic);
  if (cards % spec.leaves() != 0) {
    diagnostics.error(at.origin(), at.path_of("rails"),
                      fmt::format("{} cards are not spread evenly over {} leaves", cards, spec.leaves()),
                      "choose a divisor");
    return;
  }
  SwitchTreeSpec::check(spec, spec.leaves(), at, diagnostics);
  if (spec.tiers.size() == 1 && spec.leaves() > 1) {
    diagnostics.error(at.origin(), at.path_of("tiers"), "leaves alone leave the rails apart",
                      "add a tier above them, such as {name: spine, of: 4}");
  }
}

}  // namespace warploom
