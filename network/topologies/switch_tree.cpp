// SPDX-License-Identifier: Apache-2.0
// Sizes, rates and routes of a tree of switches.
#include "network/topologies/switch_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "network/topologies/node_wiring.hpp"
#include "network/topologies/tree_wiring.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

namespace {

constexpr std::int64_t most_devices = 100'000'000;
constexpr double most_written = 1e6;  // above it nobody writes the switches out

}  // namespace

void SwitchTreeSpec::check(const SwitchTreeSpec& spec, const ConfigValue& at, Diagnostics& diagnostics) {
  check(spec, 1, at, diagnostics);
}

void SwitchTreeSpec::check(const SwitchTreeSpec& spec, std::int64_t rails, const ConfigValue& at,
                           Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.error_count();
  const auto gpus = spec.node.gpus;
  const auto cards = static_cast<std::int64_t>(spec.nic.count);
  if (gpus % cards != 0 && cards % gpus != 0) {
    diagnostics.error(at.origin(), at.path_of("nic.count"),
                      fmt::format("{} cards cannot be shared evenly by {} devices", cards, gpus),
                      "one must be a multiple of the other");
  }
  if (spec.tiers.empty()) {
    diagnostics.error(at.origin(), at.path_of("tiers"), "expected at least one tier of switches, got none",
                      "for one node alone use `kind: nvlink_switch`");
  }
  if (spec.tiers.size() + 1 > Route::max_links / 2) {
    diagnostics.error(at.origin(), at.path_of("tiers"),
                      fmt::format("expected at most {} tiers, got {}", Route::max_links / 2 - 1, spec.tiers.size()));
  }
  double size = static_cast<double>(gpus);
  for (const auto& tier : spec.tiers) size *= static_cast<double>(tier.of);
  if (size > static_cast<double>(most_devices)) {
    diagnostics.error(at.origin(), at.path_of("tiers"),
                      fmt::format("a cluster of {:.3g} devices; at most {} are supported", size, most_devices));
  }
  if (!spec.tiers.empty() && spec.tiers[0].switches > 0) {
    diagnostics.error(at.origin(), at.path_of("tiers") + "[0].switches", "the first tier has one switch a rail",
                      "for several switches a card use `nic: {planes: ...}`");
  }
  if (!spec.tiers.empty() && spec.tiers.back().oversubscription != 1) {
    diagnostics.error(at.origin(), fmt::format("{}[{}].oversubscription", at.path_of("tiers"), spec.tiers.size() - 1),
                      fmt::format("`{}` is the last tier: it has no uplinks", spec.tiers.back().name),
                      "give it to a tier below, or add one above");
  }
  check_tier_names(spec.tiers, at, diagnostics);
  if (diagnostics.error_count() != before || size > most_written) return;
  try {
    size_tree(spec.tiers, {rails, spec.nic.planes, ""}, cards, spec.nic.rate / spec.nic.planes);
  } catch (const UserError& error) {
    diagnostics.error(at.origin(), at.path_of("tiers"), error.message(), error.hint());
  }
}

SwitchTree::SwitchTree(std::string_view kind, const NodeSpec& node, const NicSpec* nic,
                       std::span<const SwitchTierSpec> tiers, std::int64_t rails, std::int64_t devices)
    : kind_(kind),
      node_(node),
      switches_(tiers.begin(), tiers.end()),
      rails_(rails),
      cluster_size_(node.gpus),
      node_size_(node.gpus) {
  if (nic != nullptr) nic_ = *nic;
  for (const auto& tier : tiers) cluster_size_ *= tier.of;
  add_node(node);
  if (nic != nullptr) {
    add_cards(node, *nic);
    add_switches(*nic, tiers, rails);
  }
  use(devices);
}

void SwitchTree::add_node(const NodeSpec& node) {
  LinkTier ports;
  ports.name = "nvlink";
  ports.rate = node.nvlink.rate * node.nvlink.links;
  ports.efficiency = node.nvlink.efficiency;
  ports.latency = node.nvlink.latency;
  injection_ = ports.rate * node.gpus;
  bisection_ = injection_ / 2;
  summary_.push_back({"node", cluster_size_ / node.gpus, node.gpus, Bandwidth{0}, 0});
  tiers_.push_back(std::move(ports));
}

void SwitchTree::add_cards(const NodeSpec& node, const NicSpec& nic) {
  const std::int64_t links = rails_of(node, nic);
  LinkTier cards;
  cards.name = "nic";
  cards.rate = nic.rate * (static_cast<double>(nic.count) / static_cast<double>(links));
  cards.efficiency = nic.efficiency;
  cards.latency = nic.latency;
  cards.span = node.gpus / links;
  injection_ = nic.rate * nic.count * (cluster_size_ / node.gpus);
  bisection_ = injection_ / 2;
  summary_[0].up = nic.rate * nic.count;
  summary_[0].oversubscription = tiers_[0].rate * node.gpus / summary_[0].up;
  tiers_.push_back(std::move(cards));
}

void SwitchTree::add_switches(const NicSpec& nic, std::span<const SwitchTierSpec> tiers, std::int64_t rails) {
  std::int64_t span = node_size_;
  std::int64_t links_below = nic.count / rails;  // of one child, into one switch
  Bandwidth rate_below = nic.rate;
  std::int64_t children_lanes = 1;
  // What the links below a switch let through; `links_below` cards were one link of the card tier.
  double through_below = nic.rate.value() * nic.efficiency;
  for (std::size_t i = 0; i < tiers.size(); ++i) {
    const auto& tier = tiers[i];
    const bool is_root = i + 1 == tiers.size();
    const std::int64_t lanes = i == 0 ? rails : 1;
    span *= tier.of;
    const std::int64_t ports = tier.of * links_below * children_lanes;
    LinkTier uplinks;
    uplinks.name = tier.name;
    uplinks.rate = rate_below * ports / tier.oversubscription;
    uplinks.efficiency = tier.efficiency.value_or(nic.efficiency);
    uplinks.latency = tier.latency;
    uplinks.span = span;
    uplinks.lanes = lanes;
    const double through = through_below * static_cast<double>(ports);
    uplinks.can_bind = uplinks.payload().value() < through * (1 - 1e-12);
    through_below = std::min(through, uplinks.payload().value());
    const std::int64_t switches = cluster_size_ / span * lanes;
    summary_.push_back(
        {tier.name, switches, ports, is_root ? Bandwidth{0} : uplinks.rate, is_root ? 0 : tier.oversubscription});
    if (is_root) break;
    bisection_ = std::min(bisection_, uplinks.rate * switches / 2);
    rate_below = uplinks.rate;
    links_below = 1;
    children_lanes = lanes;
    tiers_.push_back(std::move(uplinks));
  }
}

void SwitchTree::use(std::int64_t devices) {
  if (devices <= 0) throw UserError(fmt::format("expected at least 1 device, got {}", devices));
  if (devices > cluster_size_) {
    std::string parts;
    for (auto tier = summary_.rbegin(); tier != summary_.rend(); ++tier) {
      parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", tier->switches, tier->name);
    }
    throw UserError(fmt::format("the job wants {} devices; the cluster has {}", devices, cluster_size_),
                    fmt::format("it is made of {} of {} devices each", parts, node_size_));
  }
  device_count_ = devices;
  for (auto& tier : tiers_) tier.count = (devices + tier.span - 1) / tier.span * tier.lanes;
}

Route SwitchTree::route(Rank from, Rank to) const {
  require_rank(from);
  require_rank(to);
  Route route;
  if (from == to) return route;
  const int meeting = meeting_tier(from, to);
  const int first = meeting == 1 ? 0 : 1;
  for (int tier = first; tier < meeting; ++tier) route.add({tier, Direction::up, link_index(tier, from)});
  for (int tier = meeting; tier-- > first;) route.add({tier, Direction::down, link_index(tier, to)});
  return route;
}

NetworkGraph SwitchTree::graph() const {
  NetworkBuilder builder;
  const std::int64_t count = (device_count_ + node_size_ - 1) / node_size_;
  const NicSpec* nic = nic_ ? &*nic_ : nullptr;
  const Nodes nodes = wire_nodes(builder, InsideSpec(node_), nic, count);
  if (nic != nullptr) {
    const Ends ends{nodes.count, nodes.cards_each, nodes.first_card, 1};
    wire_tree(builder, ends, card_cable(*nic), switches_, {rails_, nic->planes, ""});
  }
  std::vector<VertexId> devices(static_cast<std::size_t>(device_count_));
  std::iota(devices.begin(), devices.end(), nodes.first_device);
  builder.graph().set_devices(std::move(devices));
  return builder.finish();
}

}  // namespace warploom
