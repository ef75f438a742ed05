// SPDX-License-Identifier: Apache-2.0
// A tree of switches over nodes: what the fat trees and the single node have in common, and their parameters.
//
// Equations. Unit of tier t = `of` units of tier t - 1 (the first: `of` nodes). A switch's uplinks carry
// up = down / oversubscription, down the sum of the links below it. A flow climbs to the first switch that both ends
// share.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "network/topology.hpp"
#include "sim/core/config.hpp"

namespace warploom {

struct NvlinkSpec {
  int links = 1;
  Bandwidth rate{0};
  double efficiency = 1.0;
  Time latency = Time::zero();
  static auto fields() {
    return field_list(
        field("links", &NvlinkSpec::links, "links from a device into the node's switch").in(1, 1024),
        field("rate", &NvlinkSpec::rate, "of one link, one way, as the data sheet says it").positive(),
        field("efficiency", &NvlinkSpec::efficiency, "share of the rate that payload gets at best")
            .optional()
            .in(0.01, 1),
        field("latency", &NvlinkSpec::latency, "to cross a link, half the way through the switch included").optional());
  }
};

struct NodeSpec {
  std::int64_t gpus = 8;
  NvlinkSpec nvlink;
  static auto fields() {
    return field_list(field("gpus", &NodeSpec::gpus, "devices that share the node's switch").in(1, 1'000'000),
                      field("nvlink", &NodeSpec::nvlink, "a device's links into the switch"));
  }
};

struct NicSpec {
  int count = 8;
  Bandwidth rate{0};
  double efficiency = 1.0;
  Time latency = Time::zero();
  static auto fields() {
    return field_list(
        field("count", &NicSpec::count, "network cards of a node").in(1, 1024),
        field("rate", &NicSpec::rate, "of one card, one way").positive(),
        field("efficiency", &NicSpec::efficiency, "share of the rate that payload gets at best").optional().in(0.01, 1),
        field("latency", &NicSpec::latency, "to cross the cable between card and switch, and the switch").optional());
  }
};

struct SwitchTierSpec {
  std::string name;
  std::int64_t of = 1;
  double oversubscription = 1.0;
  std::optional<double> efficiency;
  Time latency = Time::zero();
  static auto fields() {
    return field_list(
        field("name", &SwitchTierSpec::name, "what the switches are called: leaf, spine, core"),
        field("of", &SwitchTierSpec::of, "units of the tier below (the first: nodes) under one switch")
            .in(1, 1'000'000),
        field("oversubscription", &SwitchTierSpec::oversubscription,
              "bandwidth down over bandwidth up; the last tier has no uplinks")
            .optional()
            .in(0.1, 1000),
        field("efficiency", &SwitchTierSpec::efficiency,
              "share of the uplinks' rate that payload gets at best; default: the card's")
            .in(0.01, 1),
        field("latency", &SwitchTierSpec::latency, "to cross an uplink and the switch behind it").optional());
  }
};

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
};

class SwitchTree : public Topology {
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
  Bandwidth injection() const override { return injection_; }
  Bandwidth bisection() const override { return bisection_; }
  int diameter() const override { return 2 * std::max(static_cast<int>(tiers_.size()) - 1, 1); }
  std::span<const TierSummary> summary() const override { return summary_; }

  // Cards that devices of a node see: cards beyond one a device are bonded.
  static std::int64_t rails_of(const NodeSpec& node, const NicSpec& nic) {
    return std::min<std::int64_t>(node.gpus, nic.count);
  }

 private:
  void add_node(const NodeSpec& node);
  void add_cards(const NodeSpec& node, const NicSpec& nic);
  void add_switches(const NicSpec& nic, std::span<const SwitchTierSpec> tiers, std::int64_t rails);
  void use(std::int64_t devices);

  std::string_view kind_;
  std::int64_t cluster_size_ = 0;
  std::int64_t device_count_ = 0;
  std::int64_t node_size_ = 1;
  std::vector<LinkTier> tiers_;
  std::vector<TierSummary> summary_;
  Bandwidth injection_{0};
  Bandwidth bisection_{0};
};

}  // namespace warploom
