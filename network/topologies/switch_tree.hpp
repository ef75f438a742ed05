// SPDX-License-Identifier: Apache-2.0
// A tree of switches over nodes: what the fat trees and the single node have in common, and their parameters.
//
// Equations. Unit of tier t = `of` units of tier t - 1 (the first: `of` nodes). A switch's uplinks carry
// up = down / oversubscription, down the sum of the links below it. A flow climbs to the first switch that both ends
// share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "network/topologies/tree_specs.hpp"
#include "network/topology.hpp"
#include "sim/core/config.hpp"

namespace warploom {

struct SwitchTreeSpec {
  NodeSpec node;
  NicSpec nic;
  std::vector<SwitchTierSpec> tiers;
  static auto fields() {
    return field_list(field("node", &SwitchTreeSpec::node, "the devices and the switch inside a node"),
                      field("nic", &SwitchTreeSpec::nic, "the network cards of a node"),
                      field("tiers", &SwitchTreeSpec::tiers, "switches, from the nodes to the root"));
  }
  static void check(const SwitchTreeSpec& spec, const ConfigValue& at, Diagnostics& diagnostics);
  // `rails`: switches of the first tier in each of its units.
  static void check(const SwitchTreeSpec& spec, std::int64_t rails, const ConfigValue& at, Diagnostics& diagnostics);
};

// Cards that devices of a node see: cards beyond one a device are bonded.
inline std::int64_t rails_of(const NodeSpec& node, const NicSpec& nic) {
  return std::min<std::int64_t>(node.gpus, nic.count);
}

class SwitchTree : public TieredTopology {
 public:
  // `nic` null: a node alone. `rails`: switches of the first tier in each of its units (1: one for all cards).
  SwitchTree(std::string_view kind, const NodeSpec& node, const NicSpec* nic, std::span<const SwitchTierSpec> tiers,
             std::int64_t rails, std::int64_t devices);

  std::string_view kind() const override { return kind_; }
  std::int64_t cluster_size() const override { return cluster_size_; }
  std::int64_t device_count() const override { return device_count_; }
  std::int64_t node_size() const override { return node_size_; }
  std::span<const LinkTier> tiers() const override { return tiers_; }
  Route route(Rank from, Rank to) const override;
  NetworkGraph graph() const override;
  Bandwidth injection() const override { return injection_; }
  Bandwidth bisection() const override { return bisection_; }
  int diameter() const override { return 2 * std::max(static_cast<int>(tiers_.size()) - 1, 1); }
  std::span<const TierSummary> summary() const override { return summary_; }

 private:
  void add_node(const NodeSpec& node);
  void add_cards(const NodeSpec& node, const NicSpec& nic);
  void add_switches(const NicSpec& nic, std::span<const SwitchTierSpec> tiers, std::int64_t rails);
  void use(std::int64_t devices);

  std::string_view kind_;
  NodeSpec node_;
  std::optional<NicSpec> nic_;
  std::vector<SwitchTierSpec> switches_;
  std::int64_t rails_ = 1;
  std::int64_t cluster_size_ = 0;
  std::int64_t device_count_ = 0;
  std::int64_t node_size_ = 1;
  std::vector<LinkTier> tiers_;
  std::vector<TierSummary> summary_;
  Bandwidth injection_{0};
  Bandwidth bisection_{0};
};

}  // namespace warploom
