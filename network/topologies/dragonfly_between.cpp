// SPDX-License-Identifier: Apache-2.0
// Leaves, spines, groups.
#include "network/topologies/dragonfly_between.hpp"

#include <fmt/format.h>

#include "sim/core/errors.hpp"

namespace warploom {

void DragonflyPlusSpec::check(const DragonflyPlusSpec& spec, const ConfigValue& at, Diagnostics& diagnostics) {
  if (spec.spines * spec.global_links % (spec.groups - 1) != 0) {
    diagnostics.error(at.origin(), at.path_of("global_links"),
                      fmt::format("{} spines x {} links do not go evenly to {} other groups", spec.spines,
                                  spec.global_links, spec.groups - 1),
                      "spines x global_links must be a multiple of groups - 1");
  }
  if (spec.type.radix == 0) return;
  const std::int64_t spine = spec.leaves * spec.local_links + spec.global_links;
  if (spine > spec.type.radix) {
    diagnostics.error(at.origin(), at.path_of("switch.radix"),
                      fmt::format("a spine needs {} ports, got {}", spine, spec.type.radix));
  }
}

void DragonflyPlusBetween::wire(NetworkBuilder& builder, const Ends& ends, const EndCable& cable,
                                const TreeShape& shape) const {
  if (shape.planes != 1) throw UserError("a dragonfly has no planes", "use several cards");
  const auto& s = spec_;
  const VertexId leaves = builder.add("leaf", VertexKind::network_switch, s.groups * s.leaves, true, s.type);
  const VertexId spines = builder.add("spine", VertexKind::network_switch, s.groups * s.spines, true, s.type);
  const auto rate = [&cable](const CableSpec& own) { return own.rate.value() > 0 ? own.rate : cable.rate; };
  const std::uint16_t nic = builder.kind(cable.name, cable.rate, cable.efficiency, cable.latency, cable.cable);
  const std::uint16_t local = builder.kind("local", rate(s.local), cable.efficiency, s.latency, s.local);
  const std::uint16_t global = builder.kind("global", rate(s.global), cable.efficiency, s.global_latency, s.global);
  for (std::int64_t node = 0; node < ends.nodes; ++node) {
    for (std::int64_t i = 0; i < ends.each; ++i)
      builder.connect(ends.at(node, i), leaves + static_cast<VertexId>(node / s.of), nic, ends.links);
  }
  for (std::int64_t group = 0; group < s.groups; ++group) {
    for (std::int64_t leaf = 0; leaf < s.leaves; ++leaf) {
      for (std::int64_t spine = 0; spine < s.spines; ++spine) {
        for (std::int64_t i = 0; i < s.local_links; ++i)
          builder.connect(leaves + static_cast<VertexId>(group * s.leaves + leaf),
                          spines + static_cast<VertexId>(group * s.spines + spine), local);
      }
    }
  }
  const std::int64_t each = s.spines * s.global_links / (s.groups - 1);
  const auto port = [&](std::int64_t group, std::int64_t distance, std::int64_t i) {
    return spines + static_cast<VertexId>(group * s.spines + ((distance - 1) * each + i) / s.global_links);
  };
  for (std::int64_t a = 0; a < s.groups; ++a) {
    for (std::int64_t b = a + 1; b < s.groups; ++b) {
      for (std::int64_t i = 0; i < each; ++i)
        builder.connect(port(a, b - a, i), port(b, s.groups - (b - a), i), global);
    }
  }
}

}  // namespace warploom
