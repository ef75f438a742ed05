// SPDX-License-Identifier: Apache-2.0
// Trees between nodes: plain, by rail, and with rails that never meet.
//
// Equations: tree_wiring.hpp. Rail-only: each rail is a tree of its own, so that other rails are reached through NVLink
// at either end. Source: Wang et al., "Rail-only: a low-cost high-performance network for training LLMs",
// arXiv:2307.12169; several tiers a rail: DeepSeek's multi-plane fat tree, arXiv:2505.09343 section 5.1.
#pragma once

#include <string>
#include <vector>

#include "network/topologies/between.hpp"

namespace warploom {

struct TreeBetweenSpec {
  std::vector<SwitchTierSpec> tiers;
  static auto fields() {
    return field_list(field("tiers", &TreeBetweenSpec::tiers, "switches, from the nodes to the root"));
  }
  static void check(const TreeBetweenSpec& spec, const ConfigValue& at, Diagnostics& diagnostics);
};

enum class RailUse { none, met, apart };

class TreeBetween : public Between {
 public:
  TreeBetween(const TreeBetweenSpec& spec, RailUse use) : tiers_(spec.tiers), use_(use) {}
  std::int64_t capacity() const override;
  void wire(NetworkBuilder& builder, const Ends& ends, const EndCable& cable, const TreeShape& shape) const override;
  bool devices_forward() const override { return use_ == RailUse::apart; }

 private:
  std::vector<SwitchTierSpec> tiers_;
  RailUse use_;
};

class FatTreeBetween final : public TreeBetween {
 public:
  using Spec = TreeBetweenSpec;
  explicit FatTreeBetween(const Spec& spec) : TreeBetween(spec, RailUse::none) {}
};

class RailTreeBetween final : public TreeBetween {
 public:
  using Spec = TreeBetweenSpec;
  explicit RailTreeBetween(const Spec& spec) : TreeBetween(spec, RailUse::met) {}
};

class RailOnlyBetween final : public TreeBetween {
 public:
  using Spec = TreeBetweenSpec;
  explicit RailOnlyBetween(const Spec& spec) : TreeBetween(spec, RailUse::apart) {}
};

}  // namespace warploom
