// SPDX-License-Identifier: Apache-2.0
// One tree for all ends, or one a rail.
#include "network/topologies/tree_between.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace warploom {

void TreeBetweenSpec::check(const TreeBetweenSpec& spec, const ConfigValue& at, Diagnostics& diagnostics) {
  if (spec.tiers.empty() || spec.tiers.size() > 8) {
    diagnostics.error(at.origin(), at.path_of("tiers"),
                      fmt::format("expected 1 to 8 tiers of switches, got {}", spec.tiers.size()));
  }
  check_tier_names(spec.tiers, at, diagnostics);
}

std::int64_t TreeBetween::capacity() const {
  double nodes = 1;
  for (const SwitchTierSpec& tier : tiers_) nodes *= static_cast<double>(tier.of);
  return static_cast<std::int64_t>(std::min(nodes, 1e8));
}

void TreeBetween::wire(NetworkBuilder& builder, const Ends& ends, const EndCable& cable, const TreeShape& shape) const {
  if (use_ != RailUse::apart) {
    return wire_tree(builder, ends, cable, tiers_, {use_ == RailUse::met ? shape.rails : 1, shape.planes, ""});
  }
  for (std::int64_t rail = 0; rail < shape.rails; ++rail) {
    Ends some = ends;
    some.each = ends.each / shape.rails;
    some.first = ends.first + static_cast<VertexId>(rail * some.each);
    some.stride = ends.each;
    const std::string prefix = shape.rails > 1 ? fmt::format("rail {} ", rail) : "";
    wire_tree(builder, some, cable, tiers_, {1, shape.planes, prefix});
  }
}

}  // namespace warploom
