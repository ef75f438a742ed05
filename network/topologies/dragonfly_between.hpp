// SPDX-License-Identifier: Apache-2.0
// Dragonfly+: groups of leaves and spines, every leaf joined to every spine of its group, groups joined by their
// spines.
//
// Equations, g groups of l leaves and s spines, `of` nodes a leaf, h links out of the group a spine: the s h links of a
// group go evenly to the g - 1 others, w = s h / (g - 1) to each (a whole number), port (d - 1) w + i of the group at
// distance d. Bisection of an even g: g / 2 x g / 2 x w links. Between cards of two groups: leaf, spine, spine, leaf.
// Ways: the shortest; detours through a third group (adaptive routing's) are not taken by themselves. Source: Shpiner
// et al., "Dragonfly+: low cost topology for scaling datacenters", HiPINEB 2017.
#pragma once

#include "network/topologies/between.hpp"

namespace warploom {

struct DragonflyPlusSpec {
  std::int64_t groups = 2;
  std::int64_t leaves = 1;
  std::int64_t spines = 1;
  std::int64_t of = 1;
  std::int64_t global_links = 1;
  std::int64_t local_links = 1;
  Time latency = Time::zero();
  Time global_latency = Time::zero();
  SwitchSpec type;
  CableSpec local;
  CableSpec global;
  static auto fields() {
    return field_list(
        field("groups", &DragonflyPlusSpec::groups, "groups, joined all to all").in(2, 4096),
        field("leaves", &DragonflyPlusSpec::leaves, "leaves of a group").in(1, 4096),
        field("spines", &DragonflyPlusSpec::spines, "spines of a group").in(1, 4096),
        field("of", &DragonflyPlusSpec::of, "nodes under one leaf").in(1, 4096),
        field("global_links", &DragonflyPlusSpec::global_links, "links of a spine to other groups").in(1, 4096),
        field("local_links", &DragonflyPlusSpec::local_links, "links between a leaf and a spine of its group")
            .optional()
            .in(1, 64),
        field("latency", &DragonflyPlusSpec::latency, "to cross a link inside a group and the switch behind it")
            .optional(),
        field("global_latency", &DragonflyPlusSpec::global_latency, "to cross a link between groups and its switch")
            .optional(),
        field("switch", &DragonflyPlusSpec::type, "ports, buffer, power and price of one switch").optional(),
        field("local", &DragonflyPlusSpec::local, "cables inside a group").optional(),
        field("global", &DragonflyPlusSpec::global, "cables between groups").optional());
  }
  static void check(const DragonflyPlusSpec& spec, const ConfigValue& at, Diagnostics& diagnostics);
};

class DragonflyPlusBetween final : public Between {
 public:
  using Spec = DragonflyPlusSpec;
  explicit DragonflyPlusBetween(const Spec& spec) : spec_(spec) {}
  std::int64_t capacity() const override { return spec_.groups * spec_.leaves * spec_.of; }
  void wire(NetworkBuilder& builder, const Ends& ends, const EndCable& cable, const TreeShape& shape) const override;

 private:
  DragonflyPlusSpec spec_;
};

}  // namespace warploom
