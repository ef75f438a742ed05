// SPDX-License-Identifier: Apache-2.0
// Puts the inside of nodes and what is between them together.
#include "network/topologies/node_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "network/topologies/dragonfly_between.hpp"
#include "network/topologies/tree_between.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

BetweenRegistry between_registry() {
  BetweenRegistry r;
  r.add<FatTreeBetween>("fat_tree", "plain Clos of all cards");
  r.add<RailTreeBetween>("rail_fat_tree", "card r of every node of a unit meets at leaf r; spines join the leaves");
  r.add<RailOnlyBetween>("rail_only", "a tree a rail; rails never meet outside the nodes");
  r.add<DragonflyPlusBetween>("dragonfly_plus", "groups of leaves and spines, all to all between groups");
  r.add<TorusBetween>("torus", "k-ary n-cube, dimension-ordered");
  r.add<HypercubeBetween>("hypercube", "two ends along each dimension");
  r.add<FullMeshBetween>("full_mesh", "every two ends of a line are joined, in any number of dimensions");
  return r;
}

namespace {

// A node's devices share a half.
std::vector<Half> halves_of_devices(const std::vector<Half>& of_nodes, std::int64_t node) {
  std::vector<Half> halves;
  for (const Half& one : of_nodes) {
    Half half;
    for (const bool side : one) half.insert(half.end(), static_cast<std::size_t>(node), side);
    halves.push_back(std::move(half));
  }
  return halves;
}

}  // namespace

WrittenNetwork join_nodes(std::string kind, const InsideSpec& node, const NicSpec* nic, std::int64_t count,
                          const Between* between) {
  NetworkBuilder builder;
  const bool relays = between != nullptr && between->devices_forward();
  const Nodes nodes = wire_nodes(builder, node, nic, count, relays);
  WrittenNetwork made;
  made.kind = std::move(kind);
  made.node_size = node.gpus;
  if (node.nvlink && node.gpus > 1) {
    made.port = node.nvlink->rate * node.nvlink->efficiency * node.nvlink->links;
  } else if (node.host) {
    const LinkSpec& pcie = node.host->c2c ? *node.host->c2c : node.host->pcie;
    made.port = pcie.rate * pcie.efficiency * pcie.links;
  }
  if (nic != nullptr && between != nullptr) {
    const std::int64_t rails = std::min<std::int64_t>(node.gpus, nic->count);
    if (nic->count % rails != 0 || node.gpus % rails != 0) {
      throw UserError(fmt::format("{} cards cannot be shared evenly by {} devices", nic->count, node.gpus),
                      "one must be a multiple of the other");
    }
    between->wire(builder, {nodes.count, nodes.cards_each, nodes.first_card, 1}, card_cable(*nic),
                  {rails, nic->planes, ""});
    made.cards_of_node = static_cast<double>(rails);
    made.card = nic->rate * nic->efficiency * (static_cast<double>(nic->count) / static_cast<double>(rails));
    made.injection = nic->rate * nic->count * count;
    made.halves = halves_of_devices(between->halves(), node.gpus);
  } else {
    const double data_sheet = node.nvlink ? (node.nvlink->rate * node.nvlink->links).value()
                              : node.host ? (node.host->pcie.rate * node.host->pcie.links).value()
                                          : 0;
    made.injection = Bandwidth(data_sheet * static_cast<double>(node.gpus * count));
  }
  made.graph = builder.finish();
  return made;
}

WrittenNetwork in_parts(WrittenNetwork node, const InsideSpec& inside, std::int64_t peers) {
  if (peers == 0 || peers == inside.gpus) return node;
  if (inside.gpus % peers != 0)
    throw UserError(fmt::format("{} devices are no whole parts of {} peers", inside.gpus, peers), "choose a divisor");
  if (!inside.host) throw UserError("`peers`: nothing joins the parts of the node", "add `host:`");
  const bool has_sockets = inside.host->sockets_link && peers * inside.host->sockets % inside.gpus == 0;
  const LinkSpec& out = has_sockets ? *inside.host->sockets_link : inside.host->pcie;
  node.node_size = peers;
  node.card = out.rate * out.efficiency * out.links;
  node.cards_of_node = 1;
  return node;
}

WrittenNetwork join_devices(std::string kind, std::int64_t devices, std::int64_t node, const Between& between,
                            const EndCable& cable, std::int64_t links, std::int64_t planes) {
  NetworkBuilder builder;
  const VertexId first = builder.add("device", VertexKind::device, devices, between.ends_forward());
  if (node == 0) node = devices;
  if (devices % node != 0)
    throw UserError(fmt::format("{} devices are no whole nodes of {}", devices, node), "choose a divisor");
  between.wire(builder, {devices, 1, first, links}, cable, {1, planes, ""});
  WrittenNetwork made;
  made.kind = std::move(kind);
  made.node_size = node;
  made.port = cable.rate * cable.efficiency * (links * planes);
  made.card = node < devices ? made.port : Bandwidth{0};
  made.cards_of_node = node < devices ? static_cast<double>(node) : 0;
  made.injection = cable.rate * (links * planes * devices);
  made.halves = between.halves();
  made.graph = builder.finish();
  return made;
}

WrittenNetwork join_grid(std::string kind, std::int64_t node, const GridBetween& grid) {
  if (grid.grid().links.empty())
    throw UserError("`links`: nothing says what joins neighbours", "such as `links: [{rate: 50 GB/s}]`");
  EndCable cable;
  cable.name = "link";
  WrittenNetwork made = join_devices(std::move(kind), grid.capacity(), node, grid, cable, 1, 1);
  made.port = grid.payload();
  if (made.card.value() == 0 && made.cards_of_node > 0) made.card = made.port;
  made.injection = grid.rate() * grid.capacity();
  return made;
}

}  // namespace warploom
