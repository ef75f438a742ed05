// SPDX-License-Identifier: Apache-2.0
// Domains first, then cards.
#include "network/topologies/scale_up_tree.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/errors.hpp"

namespace warploom {

namespace {

constexpr std::uint16_t pcie_cost = 2;

std::int64_t node_of(const ScaleUpTree::Spec& spec, const TreeBetween& tree) {
  return spec.node > 0 ? spec.node : tree.capacity();
}

// The cards of all nodes, each beside its devices.
void wire_scale_out(const ScaleUpTree::Spec& spec, VertexId first_device, WrittenNetwork& made,
                    NetworkBuilder& builder) {
  const NicSpec& nic = spec.scale_out->nic;
  Diagnostics diagnostics;
  const auto between = between_registry().make(spec.scale_out->between, diagnostics);
  diagnostics.throw_if_any();
  const std::int64_t nodes = made.cluster_size / made.node_size;
  if (between->capacity() < nodes) {
    throw UserError(
        fmt::format("{} nodes do not fit into `scale_out.between`, which has room for {}", nodes, between->capacity()),
        "raise `of` of its tiers");
  }
  const std::int64_t rails = std::min<std::int64_t>(made.node_size, nic.count);
  if (nic.count % rails != 0 || made.node_size % rails != 0) {
    throw UserError(fmt::format("{} cards cannot be shared evenly by {} devices", nic.count, made.node_size),
                    "one must be a multiple of the other");
  }
  const VertexId cards = builder.add("card", VertexKind::card, nodes * nic.count, true);
  CableSpec inside;
  inside.medium = LinkMedium::board;
  inside.protocol = LinkProtocol::pcie;
  const std::uint16_t kind = builder.kind("pcie", nic.rate, 1.0, Time::zero(), inside, pcie_cost);
  const std::int64_t most = std::max<std::int64_t>(made.node_size, nic.count);
  for (std::int64_t node = 0; node < nodes; ++node) {
    for (std::int64_t i = 0; i < most; ++i) {
      builder.connect(first_device + static_cast<VertexId>(node * made.node_size + i * made.node_size / most),
                      cards + static_cast<VertexId>(node * nic.count + i * nic.count / most), kind);
    }
  }
  between->wire(builder, {nodes, nic.count, cards, 1}, card_cable(nic), {rails, nic.planes, ""});
  const Bandwidth cards_out = nic.rate * nic.count * nodes;
  made.injection = spec.domains > 1 ? cards_out : made.injection + cards_out;
  if (spec.domains > 1) {
    made.card = nic.rate * nic.efficiency * (static_cast<double>(nic.count) / static_cast<double>(rails));
    made.cards_of_node = static_cast<double>(rails);
  }
}

WrittenNetwork built(const ScaleUpTree::Spec& spec) {
  const TreeBetween tree(spec, RailUse::none);
  WrittenNetwork made;
  made.kind = "scale_up_tree";
  made.cluster_size = tree.capacity() * spec.domains;
  made.node_size = node_of(spec, tree);
  if (made.cluster_size % made.node_size != 0)
    throw UserError(fmt::format("{} devices are no whole nodes of {}", made.cluster_size, made.node_size),
                    "choose a divisor");
  NetworkBuilder builder;
  const VertexId first = builder.add("device", VertexKind::device, made.cluster_size, false);
  const EndCable cable{"link", spec.link.rate, spec.link.efficiency, spec.link.latency, spec.link.cable};
  // Roots of their own for each domain: as many units of the last tier as there are domains.
  tree.wire(builder, {made.cluster_size, 1, first, spec.link.links}, cable, {1, spec.planes, ""});
  const std::int64_t links = std::int64_t{spec.link.links} * spec.planes;
  const bool is_split = made.node_size < made.cluster_size;
  made.port = cable.rate * cable.efficiency * links;
  made.card = is_split ? made.port : Bandwidth{0};
  made.cards_of_node = is_split ? static_cast<double>(made.node_size) : 0;
  made.injection = cable.rate * (links * made.cluster_size);
  if (spec.scale_out) wire_scale_out(spec, first, made, builder);
  made.graph = builder.finish();
  return made;
}

}  // namespace

void ScaleUpTree::Spec::check(const Spec& spec, const ConfigValue& at, Diagnostics& diagnostics) {
  TreeBetweenSpec::check(spec, at, diagnostics);
  if (spec.domains > 1 && !spec.scale_out) {
    diagnostics.error(
        at.origin(), at.path_of("scale_out"), fmt::format("nothing joins the {} domains", spec.domains),
        "such as `scale_out: {nic: {count: 8, rate: 400 Gb/s}, between: {kind: rail_only, tiers: [...]}}`");
  }
}

ScaleUpTree::ScaleUpTree(const Spec& spec, std::int64_t devices) : GraphTopology(built(spec), devices) {}

}  // namespace warploom
