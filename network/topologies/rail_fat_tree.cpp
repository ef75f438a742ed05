// SPDX-License-Identifier: Apache-2.0
// What a rail-optimised tree needs beyond a plain one.
#include "network/topologies/rail_fat_tree.hpp"

namespace warploom {

void RailFatTree::Spec::check(const Spec& spec, const ConfigValue& at, Diagnostics& diagnostics) {
  SwitchTreeSpec::check(spec, rails_of(spec.node, spec.nic), at, diagnostics);
  if (spec.tiers.size() == 1 && rails_of(spec.node, spec.nic) > 1) {
    diagnostics.error(at.origin(), at.path_of("tiers"), "leaves alone leave the rails apart",
                      "add a tier above them, such as {name: spine, of: 4}");
  }
}

}  // namespace warploom
