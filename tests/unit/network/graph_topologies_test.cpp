// SPDX-License-Identifier: Apache-2.0
// Topologies that are graphs, against their formulas: ports, links, bisection, diameter, ways.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "network/graph/adaptive.hpp"
#include "network/graph/measure.hpp"
#include "network/graph/routing.hpp"
#include "network/graph/static_routing.hpp"
#include "network/topologies/graph_topology.hpp"
#include "sim/core/errors.hpp"
#include "tests/unit/network/network_fixture.hpp"

namespace warploom {
namespace {

using namespace literals;
using test::any_topology;

std::string failure(const std::string& text, std::int64_t devices) {
  try {
    any_topology(text, devices);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

std::int64_t links_of(const NetworkGraph& graph, const std::string& kind) {
  return std::ranges::count_if(graph.links(),
                               [&](const GraphLink& link) { return graph.kinds()[link.kind].name == kind; });
}

const std::string node = "node: {gpus: 8, nvlink: {links: 18, rate: 25 GB/s}}\nnic: {count: 8, rate: 400 Gb/s}\n";

// Dally and Towles: k-ary n-cube.
TEST(Torus, LinksBisectionAndDiameterAreThoseOfAKAryNCube) {
  struct Row {
    const char* dimensions;
    std::int64_t size, links, largest;
    int diameter;
  };
  for (const Row& row : {Row{"[8]", 8, 8, 8, 4},
                         {"[4, 6]", 24, 2 * 24, 6, 5},
                         {"[4, 4, 8]", 128, 3 * 128, 8, 8},
                         {"[2, 4]", 8, 8 / 2 + 8, 4, 3}}) {
    const auto torus = any_topology(
        std::string("kind: torus\ndimensions: ") + row.dimensions + "\nlinks: [{rate: 50 GB/s, efficiency: 0.9}]\n",
        row.size);
    const NetworkGraph graph = torus->graph();
    EXPECT_EQ(graph.links().size(), static_cast<std::size_t>(row.links)) << row.dimensions;
    EXPECT_DOUBLE_EQ(torus->bisection().value(),
                     2.0 * static_cast<double>(row.size) / static_cast<double>(row.largest) * 50e9)
        << row.dimensions;
    EXPECT_EQ(torus->diameter(), row.diameter) << row.dimensions;
    EXPECT_DOUBLE_EQ(torus->injection().value(), 2.0 * static_cast<double>(row.links) * 50e9);
    EXPECT_DOUBLE_EQ(torus->port().value(), 0.9 * torus->injection().value() / static_cast<double>(row.size));
  }
}

TEST(Torus, WaysGoByDimensionTheShorterWayAround) {
  const auto torus = any_topology("kind: torus\ndimensions: [4, 5]\nlinks: [{rate: 50 GB/s, latency: 1 us}]\n", 20);
  const NetworkGraph graph = torus->graph();
  const auto router = torus->router(graph);
  std::vector<VertexId> visited;
  for (const EdgeId edge : router->hashed_path({0, 4 * 4 + 3, 0}, 1)) visited.push_back(graph.to(edge));
  EXPECT_EQ(visited, (std::vector<VertexId>{3, 19}));  // -1 in the first, -1 in the second dimension
  EXPECT_EQ(torus->latency(0, 19), 2_us);
  EXPECT_EQ(router->even_split(0, 19).size(), 2U);  // one way
}

// Dally and Towles, section 5.2: a k-ary n-cube under uniform traffic is bound by its bisection where all of its
// channels carry the same.
TEST(Torus, HalfWayAroundGoesEitherWayEvenly) {
  const auto torus = any_topology("kind: torus\ndimensions: [4, 4]\nlinks: [{rate: 50 GB/s}]\n", 16);
  const NetworkGraph graph = torus->graph();
  const auto router = torus->router(graph);
  std::vector<double> load(graph.edge_count());
  for (VertexId from = 0; from < 16; ++from) {
    for (VertexId to = 0; to < 16; ++to) {
      if (from == to) continue;
      for (const EdgeShare& one : router->even_split(from, to)) load[one.edge] += one.share;
    }
  }
  // 16 x 16 pairs of mean distance 2 over 64 edges: 8 on each.
  for (EdgeId edge = 0; edge < graph.edge_count(); ++edge) EXPECT_DOUBLE_EQ(load[edge], 8) << graph.edge_name(edge);
  // A hashed flow takes one of the two.
  EXPECT_EQ(router->hashed_path({0, 2, 0}, 1).size(), 2U);
}

TEST(Hypercube, HasALinkAndAHopADimension) {
  for (int d = 1; d <= 6; ++d) {
    const std::int64_t size = std::int64_t{1} << d;
    const auto cube =
        any_topology("kind: hypercube\ndimensions: " + std::to_string(d) + "\nlinks: [{rate: 10 GB/s}]\n", size);
    EXPECT_EQ(cube->graph().links().size(), static_cast<std::size_t>(d * size / 2));
    EXPECT_EQ(cube->diameter(), d);
    EXPECT_DOUBLE_EQ(cube->bisection().value(), static_cast<double>(size) / 2 * 10e9);
  }
}

// UB-Mesh, arXiv:2503.20377: a rack of 8 boards of 8 is a 2D full mesh.
TEST(FullMesh, EveryTwoOfALineAreJoined) {
  const std::string text = "kind: full_mesh\ndimensions: [8, 8]\nlinks: [{rate: 56 GB/s}]\n";
  const auto mesh = any_topology(text, 64);
  EXPECT_EQ(mesh->graph().links().size(), 64U * 14 / 2);
  EXPECT_EQ(mesh->diameter(), 2);
  EXPECT_DOUBLE_EQ(mesh->bisection().value(), 4 * 4 * 8 * 56e9);
  EXPECT_DOUBLE_EQ(mesh->port().value(), 14 * 56e9);
  const auto four = any_topology("kind: full_mesh\ndimensions: [4, 4, 4, 4]\nlinks: [{rate: 1 GB/s}]\n", 256);
  EXPECT_EQ(four->diameter(), 4);
}

TEST(FullMesh, AllPathRoutingTakesTheDirectLinkAndEveryDetour) {
  const auto mesh = any_topology("kind: full_mesh\ndimensions: [8]\nall_paths: true\nlinks: [{rate: 56 GB/s}]\n", 8);
  const NetworkGraph graph = mesh->graph();
  const auto shares = mesh->router(graph)->even_split(0, 5);
  ASSERT_EQ(shares.size(), 1U + 2 * 6);
  for (const EdgeShare& share : shares) EXPECT_DOUBLE_EQ(share.share, 1.0 / 7);
}

TEST(DragonflyPlus, CountsAndBisectionFollowFromItsGroups) {
  // 5 groups of 4 leaves and 4 spines, 4 nodes a leaf, 4 links out of a spine: 4 x 4 / 4 = 4 cables to each group.
  const auto fly = any_topology(
      "kind: dragonfly_plus\n" + node + "groups: 5\nleaves: 4\nspines: 4\nof: 4\nglobal_links: 4\nlocal_links: 2\n",
      5 * 4 * 4 * 8);
  const NetworkGraph graph = fly->graph();
  EXPECT_EQ(links_of(graph, "nic"), 640);
  EXPECT_EQ(links_of(graph, "local"), 5 * 4 * 4 * 2);
  EXPECT_EQ(links_of(graph, "global"), 5 * 4 / 2 * 4);
  std::map<std::pair<VertexId, VertexId>, int> between;
  for (VertexId v = 0; v < graph.vertex_count(); ++v) {
    int far = 0;
    for (const EdgeId edge : graph.out(v)) {
      if (graph.kind(edge).name != "global") continue;
      ++far;
      const auto group = [&](VertexId s) { return (s - graph.group_of(s).first) / 4; };
      ++between[{group(v), group(graph.to(edge))}];
    }
    EXPECT_EQ(far, graph.group_of(v).name == "spine" ? 4 : 0);
  }
  EXPECT_EQ(between.size(), 20U);
  for (const auto& [groups, cables] : between) EXPECT_EQ(cables, 4);
  EXPECT_EQ(fly->diameter(), 5);  // card, leaf, spine, spine, leaf, card
  const auto even = any_topology(
      "kind: dragonfly_plus\n" + node + "groups: 4\nleaves: 2\nspines: 3\nof: 2\nglobal_links: 2\n", 4 * 2 * 2 * 8);
  EXPECT_DOUBLE_EQ(even->bisection().value(), 2 * 2 * 2 * 50e9);
  EXPECT_NE(failure("kind: dragonfly_plus\n" + node + "groups: 4\nleaves: 2\nspines: 2\nof: 2\nglobal_links: 2\n", 8)
                .find("2 spines x 2 links do not go evenly to 3 other groups"),
            std::string::npos);
}

// DeepSeek-V3's multi-plane fat tree, arXiv:2505.09343 table 3: 16,384 endpoints, 768 switches of 64 ports, 16,384
// links between them.
TEST(RailOnly, MultiPlaneFatTreeHasThePublishedSwitches) {
  const auto planes =
      any_topology("kind: rail_only\n" + node + "tiers: [{name: leaf, of: 32}, {name: spine, of: 64}]\n", 8);
  EXPECT_EQ(planes->cluster_size(), 16384);
  std::int64_t switches = 0;
  const auto& graph = dynamic_cast<const GraphTopology&>(*planes).written();
  for (const VertexGroup& group : graph.groups()) {
    if (group.name.ends_with("leaf") || group.name.ends_with("spine")) switches += group.count;
  }
  EXPECT_EQ(switches, 768);
  EXPECT_EQ(links_of(graph, "leaf"), 16384);
}

TEST(RailOnly, OtherRailsAreReachedThroughNvlink) {
  const auto rails = any_topology("kind: rail_only\n" + node + "tiers: [{name: rail, of: 4}]\n", 32);
  const NetworkGraph graph = rails->graph();
  const auto path = rails->router(graph)->hashed_path({graph.device(0), graph.device(9), 0}, 1);
  const auto nvlink = std::ranges::count_if(path, [&](EdgeId edge) { return graph.kind(edge).name == "nvlink"; });
  EXPECT_EQ(nvlink, 2);
  EXPECT_EQ(path.size(), 6U);
  EXPECT_EQ(rails->cards_of_node(), 8);
}

// NVIDIA DGX-1 with V100, WP-08437-002 figure 4: the hybrid cube mesh.
const std::string cube_mesh =
    "node:\n  gpus: 8\n  nvlink: {links: 6, rate: 25 GB/s}\n  pairs:\n"
    "  - {a: 0, b: 1}\n  - {a: 0, b: 2}\n  - {a: 0, b: 3, links: 2}\n  - {a: 0, b: 4, links: 2}\n"
    "  - {a: 1, b: 2, links: 2}\n  - {a: 1, b: 3}\n  - {a: 1, b: 5, links: 2}\n  - {a: 2, b: 3, links: 2}\n"
    "  - {a: 2, b: 6}\n  - {a: 3, b: 7}\n  - {a: 4, b: 5}\n  - {a: 4, b: 6}\n  - {a: 4, b: 7, links: 2}\n"
    "  - {a: 5, b: 6, links: 2}\n  - {a: 5, b: 7}\n  - {a: 6, b: 7, links: 2}\n"
    "  host: {sockets: 2, pcie_switches: 4, pcie: {rate: 15.75 GB/s}, between: {rate: 20.8 GB/s}}\n";

TEST(NvlinkMesh, HybridCubeMeshUsesSixLinksADevice) {
  const auto mesh = any_topology("kind: nvlink_mesh\n" + cube_mesh, 8);
  const NetworkGraph graph = mesh->graph();
  for (Rank rank = 0; rank < 8; ++rank) {
    int links = 0;
    for (const EdgeId edge : graph.out(graph.device(rank)))
      links += graph.kind(edge).name == "nvlink" ? graph.link(edge).width : 0;
    EXPECT_EQ(links, 6) << rank;
  }
  EXPECT_EQ(mesh->port(), 150_GBps);
  // Six links between the halves of four, beside the sockets' link.
  EXPECT_DOUBLE_EQ(mesh->bisection().value(), (6 * 25e9 + 20.8e9));
  const auto router = mesh->router(graph);
  EXPECT_EQ(router->hashed_path({graph.device(0), graph.device(4), 0}, 1).size(), 1U);
  EXPECT_EQ(router->hashed_path({graph.device(0), graph.device(7), 0}, 1).size(), 5U);  // over both sockets
}

TEST(NvlinkMesh, BadLinksAreNamed) {
  const std::string head = "kind: nvlink_mesh\nnode:\n  gpus: 4\n  nvlink: {links: 2, rate: 25 GB/s}\n";
  EXPECT_NE(failure(head + "  pairs: [{a: 1, b: 1}]\n", 4).find("a link from device 1 to itself"), std::string::npos);
  EXPECT_NE(failure(head + "  pairs: [{a: 1, b: 4}]\n", 4).find("there is no device 4"), std::string::npos);
  EXPECT_NE(failure(head + "  pairs: [{a: 0, b: 1}, {a: 1, b: 0}]\n", 4).find("joined twice"), std::string::npos);
  EXPECT_NE(failure(head + "  pairs: [{a: 0, b: 1, links: 3}]\n", 4).find("3 links to its neighbours, but 2"),
            std::string::npos);
  const std::string loose = failure(head + "  pairs: [{a: 0, b: 1}]\n", 4);
  EXPECT_NE(loose.find("device 2"), std::string::npos) << loose;
  const std::string apart = failure(head + "  pairs: [{a: 0, b: 1}, {a: 2, b: 3}]\n", 4);
  EXPECT_NE(apart.find("no way leads to `device 0` from `device 2`, `device 3`"), std::string::npos) << apart;
}

TEST(PcieTree, PeersMeetAtTheirSwitchThenSocketThenAcross) {
  const auto tree = any_topology(
      "kind: pcie_tree\ngpus: 8\nhost: {sockets: 2, pcie_switches: 4, pcie: {rate: 31.5 GB/s, latency: 150 ns}, "
      "between: {links: 3, rate: 20 GB/s, latency: 100 ns}, storage: {count: 4, rate: 7 GB/s}}\n",
      8);
  EXPECT_EQ(tree->latency(0, 1), 300_ns);
  EXPECT_EQ(tree->latency(0, 2), 600_ns);
  EXPECT_EQ(tree->latency(0, 4), 700_ns);
  EXPECT_EQ(tree->diameter(), 5);
  EXPECT_DOUBLE_EQ(tree->bisection().value(), 60e9);  // what joins the sockets
  const NetworkGraph graph = tree->graph();
  EXPECT_EQ(links_of(graph, "storage"), 4);
  const auto is_host = [](const VertexGroup& group) { return group.kind == VertexKind::host; };
  EXPECT_EQ(std::ranges::find_if(graph.groups(), is_host)->count, 2U);
}

TEST(PcieTree, GraceIsReachedByItsCoherentLinks) {
  const auto grace =
      any_topology("kind: pcie_tree\ngpus: 2\nhost: {sockets: 1, pcie: {rate: 63 GB/s}, c2c: {rate: 450 GB/s}}\n", 2);
  EXPECT_EQ(grace->port(), 450_GBps);
  EXPECT_EQ(links_of(grace->graph(), "c2c"), 2);
}

// CloudMatrix384, arXiv:2506.12708 section 3: 48 nodes of 8 NPUs of two dies, 7 L1 switches a node, 7 planes of 16 L2
// switches with 48 ports; 28 GB/s a port, 196 GB/s a die, 448 GB/s a L1 switch and plane.
TEST(ScaleUpTree, CloudMatrixHas336FirstAnd112SecondSwitches) {
  const auto matrix = any_topology(
      "kind: scale_up_tree\nplanes: 7\nlink: {links: 2, rate: 28 GB/s, efficiency: 1}\n"
      "tiers: [{name: l1, of: 8}, {name: l2, of: 48, switch: {radix: 48}}]\n",
      384);
  std::map<std::string, std::int64_t> count;
  const NetworkGraph graph = matrix->graph();
  for (const VertexGroup& group : graph.groups()) count[group.name] += group.count;
  EXPECT_EQ(count["l1"], 7 * 48);
  EXPECT_EQ(count["l2"], 7 * 16);
  EXPECT_DOUBLE_EQ(matrix->port().value(), 392e9);
  EXPECT_DOUBLE_EQ(matrix->bisection().value(), 192 * 392e9);  // no oversubscription
  EXPECT_EQ(matrix->diameter(), 4);
}

TEST(Cluster, AnyNodeGoesWithAnyNetworkBetween) {
  // 910B: eight devices in a full mesh, a card each, a fat tree.
  const std::string nodes =
      "kind: cluster\nnode: {gpus: 8, nvlink: {links: 7, rate: 28 GB/s}, all_pairs: 1}\nnic: {count: 8, rate: 200 "
      "Gb/s}\n";
  const auto tree =
      any_topology(nodes + "between: {kind: rail_fat_tree, tiers: [{name: leaf, of: 4}, {name: spine, of: 2}]}\n", 64);
  EXPECT_EQ(tree->node_size(), 8);
  EXPECT_EQ(tree->port(), 196_GBps);
  EXPECT_EQ(tree->card(), 25_GBps);
  EXPECT_EQ(links_of(tree->graph(), "nvlink"), 8 * 28);
  EXPECT_DOUBLE_EQ(tree->bisection().value(), 32 * 25e9);
  const auto torus = any_topology(nodes + "between: {kind: torus, dimensions: [2, 4]}\n", 64);
  EXPECT_DOUBLE_EQ(torus->bisection().value(), 2 * 2 * 8 * 25e9);  // a torus a card
  EXPECT_NE(failure(nodes + "between: {kind: ring}\n", 64).find("ring"), std::string::npos);
}

TEST(Sites, TheLongLinksAreTheBisection) {
  const std::string site =
      "{kind: rail_fat_tree, node: {gpus: 8, nvlink: {links: 18, rate: 25 GB/s}}, nic: {count: 8, "
      "rate: 400 Gb/s}, tiers: [{name: leaf, of: 4}, {name: spine, of: 2}]}";
  const auto both = any_topology("kind: sites\nsites:\n- network: " + site + "\n- network: " + site +
                                     "\nlink: {links: 4, rate: 100 GB/s, latency: 500 us}\n",
                                 128);
  EXPECT_EQ(both->cluster_size(), 128);
  EXPECT_DOUBLE_EQ(both->bisection().value(), 400e9);
  EXPECT_EQ(both->latency(0, 64), 500_us);
  EXPECT_EQ(both->latency(0, 63), Time::zero());
  EXPECT_EQ(both->diameter(), 7);  // card, leaf, spine, gateway, gateway, spine, leaf, card
  EXPECT_DOUBLE_EQ(both->injection().value(), 128 * 50e9);
}

TEST(Sites, EqualLinksAreOneKindAndUnequalOnesAreCalledByTheirSite) {
  const auto kinds = [](const std::string& second) {
    const auto site = [](const std::string& rate) {
      return "{kind: rail_fat_tree, node: {gpus: 8, nvlink: {links: 18, rate: 25 GB/s}}, nic: {count: 8, rate: " +
             rate + "}, tiers: [{name: leaf, of: 4}, {name: spine, of: 2}]}";
    };
    const auto both =
        any_topology("kind: sites\nsites:\n- network: " + site("400 Gb/s") + "\n- network: " + site(second) +
                         "\nlink: {links: 4, rate: 100 GB/s, latency: 500 us}\n",
                     128);
    std::multiset<std::string> names;
    const NetworkGraph graph = both->graph();
    for (const LinkKind& kind : graph.kinds()) names.insert(kind.name);
    return names;
  };
  EXPECT_EQ(kinds("400 Gb/s"), (std::multiset<std::string>{"nvlink", "pcie", "nic", "leaf", "gateway", "long"}));
  const auto unequal = kinds("200 Gb/s");
  EXPECT_EQ(unequal.count("nvlink"), 1U);
  EXPECT_EQ(unequal.count("nic"), 1U);
  EXPECT_EQ(unequal.count("site 1 nic"), 1U);
  EXPECT_EQ(unequal.count("site 1 leaf"), 1U);
}

const std::string free_text =
    "kind: graph\nnode: 2\nvertices:\n- {name: gpu, kind: device, count: 4}\n- {name: leaf, kind: switch, count: 2}\n"
    "- {name: spine, kind: switch, count: 2}\nkinds:\n  wire: {rate: 50 GB/s, latency: 1 us}\n"
    "links:\n- {a: gpu 0-1, b: leaf 0, kind: wire}\n- {a: gpu 2-3, b: leaf 1, kind: wire}\n"
    "- {a: leaf, b: spine, kind: wire}\n";

TEST(FreeGraph, IsWhatTheFileSays) {
  const auto graph = any_topology(free_text, 4);
  EXPECT_EQ(graph->graph().links().size(), 8U);
  EXPECT_EQ(graph->latency(0, 1), 2_us);
  EXPECT_EQ(graph->latency(0, 3), 4_us);
  EXPECT_EQ(graph->diameter(), 4);
  EXPECT_DOUBLE_EQ(graph->bisection().value(), 100e9);
  EXPECT_EQ(graph->node_size(), 2);
  const auto turned = any_topology(free_text + "ranks: [gpu 3, gpu 0-2]\n", 4);
  EXPECT_EQ(turned->latency(0, 3), 2_us);  // gpu 3 and gpu 2
}

TEST(FreeGraph, TheThinnestCutCountsNotTheFirstHalves) {
  // Even and odd devices hang on two switches that a thin wire joins.
  const auto graph = any_topology(
      "kind: graph\nvertices:\n- {name: gpu, kind: device, count: 6}\n- {name: hub, kind: switch, count: 2}\n"
      "kinds:\n  wire: {rate: 50 GB/s}\n  thin: {rate: 10 GB/s}\nlinks:\n- {a: gpu 0, b: hub 0, kind: wire}\n"
      "- {a: gpu 2, b: hub 0, kind: wire}\n- {a: gpu 4, b: hub 0, kind: wire}\n- {a: gpu 1, b: hub 1, kind: wire}\n"
      "- {a: gpu 3, b: hub 1, kind: wire}\n- {a: gpu 5, b: hub 1, kind: wire}\n- {a: hub 0, b: hub 1, kind: thin}\n",
      6);
  EXPECT_DOUBLE_EQ(graph->bisection().value(), 10e9);
}

// Whatever way ends are written, the ports that the radix is held against are those that are built.
TEST(FreeGraph, CountsPortsAsLinksAreBuilt) {
  for (const char* link : {"{a: hub, b: hub, kind: wire}", "{a: hub 0-2, b: hub 1-3, kind: wire}",
                           "{a: hub 0-1, b: hub 2-3, kind: wire, links: 2}",
                           "{a: hub 0-1, b: hub 2-3, kind: wire, pairwise: true}", "{a: hub 1, b: hub, kind: wire}"}) {
    const auto text = [&](std::int64_t radix) {
      return "kind: graph\nvertices:\n- {name: gpu, kind: device, count: 4}\n- {name: hub, kind: switch, count: 4, "
             "switch: {radix: " +
             std::to_string(radix) +
             "}}\nkinds: {wire: {rate: 50 GB/s}, thin: {rate: 1 GB/s}}\nlinks:\n- {a: gpu, b: hub, kind: thin, "
             "pairwise: true}\n- {a: hub 0, b: hub 1-3, kind: thin}\n- " +
             link + "\n";
    };
    const NetworkGraph graph = any_topology(text(100), 4)->graph();
    std::vector<std::int64_t> ports(graph.vertex_count());
    for (const GraphLink& one : graph.links()) ports[one.a] += one.width, ports[one.b] += one.width;
    const std::int64_t most = std::ranges::max(ports);
    EXPECT_EQ(failure(text(most), 4), "no error") << link;
    EXPECT_NE(failure(text(most - 1), 4).find("take " + std::to_string(most) + " ports"), std::string::npos) << link;
  }
}

TEST(FreeGraph, BadFilesAreToldWhereAndWhat) {
  const auto with = [](std::string text, const std::string& from, const std::string& to) {
    return text.replace(text.find(from), from.size(), to);
  };
  const auto expect = [&](const std::string& text, const std::string& message) {
    const std::string got = failure(text, 4);
    EXPECT_NE(got.find(message), std::string::npos) << got;
  };
  expect(with(free_text, "b: leaf 0", "b: leav 0"), "`links[0]`: nothing is called `leav 0`");
  expect(with(free_text, "b: leaf 0", "b: leaf 7"), "nothing is called `leaf 7`");
  expect(with(free_text, "a: gpu 0-1", "a: leaf 0"), "a link from `leaf 0` to itself");
  expect(with(free_text, "kind: wire}\n- {a: gpu 2", "kind: wide}\n- {a: gpu 2"), "no kind of links is called `wide`");
  expect(with(free_text, "rate: 50 GB/s", "rate: 0 GB/s"), "kinds.wire.rate");
  expect(with(free_text, "a: gpu 2-3", "a: gpu 2"), "no link reaches `gpu 3`");
  expect(with(free_text, "- {a: leaf, b: spine, kind: wire}", "- {a: leaf 0, b: spine, kind: wire}"),
         "no way leads to `gpu 0` from `gpu 2`, `gpu 3`");
  expect(with(with(free_text, "kind: switch, count: 2}\nkinds", "kind: switch, count: 9999}\nkinds"),
              "kind: switch, count: 2}", "kind: switch, count: 9999}"),
         "at most 4,000,000 can be written out");
  expect(free_text + "ranks: [leaf 0]\n", "`leaf 0` is no device");
  // Two devices and two spines.
  const std::string leaf = "{name: leaf, kind: switch, count: 2";
  expect(with(free_text, leaf, leaf + ", switch: {radix: 3}"),
         "`vertices[1].switch.radix`: the links of `leaf 0` take 4 ports, it has 3");
  expect(with(free_text, leaf, leaf + ", switch: {radix: 4}"), "no error");
  expect(with(free_text, leaf, leaf + ", switch: {radix: 2, chips: 2}"), "no error");
  expect(free_text + "ranks: [gpu 0, gpu 0]\n", "`gpu 0` has two ranks");
}

TEST(Routing, StaticTablesGiveEachDestinationAWayAndGoRoundTheUplinks) {
  const auto tree = any_topology(
      "kind: fat_tree\nnode: {gpus: 1, nvlink: {links: 1, rate: 1 GB/s}}\nnic: {count: 1, rate: 50 GB/s}\n"
      "tiers: [{name: leaf, of: 4}, {name: spine, of: 4}]\n",
      16);
  const NetworkGraph graph = tree->graph();
  StaticRouter router(graph);
  std::map<EdgeId, int> used;
  for (Rank to = 4; to < 16; ++to) {
    const auto path = router.hashed_path({graph.device(0), graph.device(to), 7}, 3);
    EXPECT_EQ(path, router.hashed_path({graph.device(0), graph.device(to), 99}, 5));  // the flow does not matter
    ++used[path[2]];
  }
  ASSERT_EQ(used.size(), 4U);
  for (const auto& [edge, count] : used) EXPECT_EQ(count, 3);
}

TEST(Routing, AdaptiveFlowsAvoidWhereOthersAre) {
  const auto tree = any_topology(
      "kind: fat_tree\nnode: {gpus: 1, nvlink: {links: 1, rate: 1 GB/s}}\nnic: {count: 1, rate: 50 GB/s}\n"
      "tiers: [{name: leaf, of: 4}, {name: spine, of: 4}]\n",
      16);
  const NetworkGraph graph = tree->graph();
  AdaptiveRouter router(graph);
  std::map<EdgeId, int> used;
  for (Rank i = 0; i < 4; ++i) {
    const auto path = router.hashed_path({graph.device(i), graph.device(4 + i), 0}, 1);
    router.add(path, 1.0);
    ++used[path[2]];
  }
  EXPECT_EQ(used.size(), 4U);  // hashed, four flows meet on four uplinks with probability 1 - 4!/4^4 = 91%
}

}  // namespace
}  // namespace warploom
