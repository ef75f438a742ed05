// SPDX-License-Identifier: Apache-2.0
// Traffic folded on a written-out network: as on trees where both apply, by hand where only this does.
#include "network/fabrics/graph_fold.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "network/conditions.hpp"
#include "network/fabrics/explicit_flows.hpp"
#include "network/fabrics/fluid.hpp"
#include "network/graph/adaptive.hpp"
#include "network/graph/all_path.hpp"
#include "sim/core/errors.hpp"
#include "tests/unit/network/network_fixture.hpp"

namespace warploom {
namespace {

using test::group;

LinkKind wire(const std::string& name, Bandwidth rate, LinkProtocol protocol = LinkProtocol::infiniband) {
  LinkKind kind;
  kind.name = name;
  kind.rate = rate;
  kind.protocol = protocol;
  return kind;
}

// The links of a tree, one by one; every uplink of a switch as `parallel` equal ways.
NetworkGraph written_out(const TieredTopology& topology, std::uint32_t parallel) {
  NetworkGraph graph;
  const auto devices = static_cast<std::uint32_t>(topology.device_count());
  const auto tiers = topology.tiers();
  const VertexId device = graph.add({"device", VertexKind::device, 0, devices, false});
  const auto nodes = static_cast<std::uint32_t>((devices - 1) / topology.node_size() + 1);
  const VertexId node = graph.add({"node", VertexKind::network_switch, 0, nodes});
  const auto port = graph.add(wire("nvlink", tiers[0].payload(), LinkProtocol::nvlink));
  for (VertexId d = 0; d < devices; ++d)
    graph.connect(device + d, node + d / static_cast<VertexId>(topology.node_size()), port);
  if (tiers.size() == 1) {
    graph.finish();
    return graph;
  }
  // Longer than the way through the node's switch.
  const VertexId slot = graph.add({"slot", VertexKind::host, 0, devices});
  const auto bus = graph.add(wire("bus", 1e6 * tiers[1].payload(), LinkProtocol::pcie));
  std::vector<VertexId> above;
  for (std::size_t t = 1; t < tiers.size(); ++t)
    above.push_back(
        graph.add({tiers[t].name, VertexKind::network_switch, 0, static_cast<std::uint32_t>(tiers[t].count)}));
  above.push_back(graph.add({"root", VertexKind::network_switch, 0, 1}));
  for (VertexId d = 0; d < devices; ++d) {
    graph.connect(device + d, slot + d, bus);
    graph.connect(slot + d, above[0] + static_cast<VertexId>(topology.link_index(1, d)), bus);
  }
  for (std::size_t t = 1; t < tiers.size(); ++t) {
    const std::uint32_t ways = t == 1 ? 1 : parallel;
    const auto kind = graph.add(wire(tiers[t].name, tiers[t].payload() / ways));
    std::vector<bool> is_done(static_cast<std::size_t>(tiers[t].count), false);
    for (Rank d = 0; d < devices; ++d) {
      const auto link = topology.link_index(static_cast<int>(t), d);
      if (is_done[static_cast<std::size_t>(link)]) continue;
      is_done[static_cast<std::size_t>(link)] = true;
      const auto up = t + 1 < tiers.size() ? topology.link_index(static_cast<int>(t) + 1, d) : 0;
      for (std::uint32_t w = 0; w < ways; ++w)
        graph.connect(above[t - 1] + static_cast<VertexId>(link), above[t] + static_cast<VertexId>(up), kind);
    }
  }
  graph.finish();
  return graph;
}

GraphFoldOptions in_nodes(std::int64_t size) {
  GraphFoldOptions options;
  options.node_size = size;
  return options;
}

std::vector<double> rates(const Folding& folding) {
  std::vector<WaterFilling::Job> jobs;
  for (VariableId v = 0; v < folding.variables.size(); ++v) {
    if (!folding.variables[v].links.empty()) jobs.push_back({v});
  }
  WaterFilling(folding).solve(jobs);
  std::vector<double> result;
  for (const auto& job : jobs) result.push_back(job.rate);
  std::ranges::sort(result);
  result.erase(std::unique(result.begin(), result.end(), [](double a, double b) { return b - a <= 1e-9 * b; }),
               result.end());
  return result;
}

// The same rates of everything at once, by either fold.
TEST(GraphFold, EqualsTheFoldOfTrees) {
  const std::vector<std::pair<std::string, std::int64_t>> places = {
      {test::rail_text, 256}, {test::clos_text, 288}, {test::few_cards_text, 240}, {test::one_node_text, 8}};
  for (const auto& [text, devices] : places) {
    const auto topology = test::topology(text, devices);
    for (const std::uint32_t parallel : {1U, 4U, 7U}) {
      const NetworkGraph graph = written_out(*topology, parallel);
      Router router(graph);
      std::vector<std::vector<std::pair<FlowPattern, Group>>> cases = {
          {{FlowPattern::ring, group({{devices, 1}}, {})}},
          {{FlowPattern::all_pairs, group({{std::min<std::int64_t>(devices, 64), 1}}, {})}},
          {{FlowPattern::ring, group({{devices / 8, 8}}, {{8, 1}})},
           {FlowPattern::ring, group({{8, 1}}, {{devices / 8, 8}})}},
          {{FlowPattern::tree, group({{devices / 8, 8}}, {{8, 1}})},
           {FlowPattern::ports, group({{8, 1}}, {{devices / 8, 8}})}},
          {{FlowPattern::pair, group({{2, devices / 2}}, {{devices / 2, 1}})},
           {FlowPattern::chain, group({{devices / 4, 4}}, {{2, 1}})}},
      };
      for (const auto& one : cases) {
        std::vector<Group> groups;
        std::vector<Traffic> traffic;
        for (const auto& [pattern, members] : one) {
          traffic.push_back({pattern, static_cast<GroupId>(groups.size())});
          groups.push_back(members);
        }
        const Folding tree = fold(*topology, groups, traffic);
        const Folding written = fold_graph(graph, router, groups, traffic, in_nodes(topology->node_size()));
        const auto expected = rates(tree);
        const auto got = rates(written);
        ASSERT_EQ(got.size(), expected.size()) << topology->kind() << " x" << parallel;
        for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], expected[i] * 1e-9);
      }
    }
  }
}

// x of `side` x y of `side`, wires to the four neighbours; node 0 first.
NetworkGraph torus(std::uint32_t side) {
  NetworkGraph graph;
  graph.add({"device", VertexKind::device, 0, side * side, true});
  const auto kind = graph.add(wire("wire", 10_GBps));
  for (VertexId y = 0; y < side; ++y) {
    for (VertexId x = 0; x < side; ++x) {
      graph.connect(y * side + x, y * side + (x + 1) % side, kind);
      graph.connect(y * side + x, (y + 1) % side * side + x, kind);
    }
  }
  graph.finish();
  return graph;
}

TEST(GraphFold, RowsOfATorusAreOneVariableAndOneLinkClass) {
  const NetworkGraph graph = torus(8);
  Router router(graph);
  const std::vector<Group> groups = {group({{8, 1}}, {{8, 8}})};
  const std::vector<Traffic> traffic = {{FlowPattern::ring, 0}};
  const Folding folding = fold_graph(graph, router, groups, traffic, {});
  EXPECT_EQ(folding.variables.size(), 1U);
  EXPECT_EQ(folding.links.size(), 1U);
  EXPECT_EQ(rates(folding), std::vector{10e9});
  EXPECT_EQ(folding.kinds[folding.links[0].kind], "wire");
}

// Of n x n devices, n odd, each is (n^2 - 1) / 4 links from the n of a ring, n times over in both dimensions, and all
// 4 n^2 edges carry the same by symmetry: n (n^2 - 1) / 8 flows.
TEST(GraphFold, AllPairsOfATorusLoadAllLinksAlike) {
  const NetworkGraph graph = torus(5);
  Router router(graph);
  const std::vector<Group> groups = {group({{25, 1}}, {})};
  const std::vector<Traffic> traffic = {{FlowPattern::all_pairs, 0}};
  const Folding folding = fold_graph(graph, router, groups, traffic, {});
  ASSERT_EQ(folding.variables.size(), 1U);
  ASSERT_EQ(folding.links.size(), 1U);
  EXPECT_EQ(folding.variables[0].links[0].units, 5 * 24 / 8 * folding.units_per_flow);
}

TEST(GraphFold, WhatLeavesAVertexIsWhatCame) {
  const auto topology = test::topology(test::clos_text, 96);
  const NetworkGraph graph = written_out(*topology, 7);
  Router router(graph);
  const std::vector<Group> groups = {group({{2, 80}}, {{1, 1}}, 3)};
  const std::vector<Traffic> traffic = {{FlowPattern::pair, 0}};
  const Folding folding = fold_graph(graph, router, groups, traffic, in_nodes(8));
  std::int64_t out = 0;
  for (const Share& share : folding.variables[0].links) out = std::max(out, share.units);
  EXPECT_EQ(out, folding.units_per_flow);  // the cards carry all of it
}

TEST(GraphFold, HashedFlowsCollideAndSpreadOnesDoNot) {
  // 16 devices at each of two leaves, 16 spines, rates alike: a permutation across fits if spread.
  NetworkGraph graph;
  const VertexId device = graph.add({"device", VertexKind::device, 0, 32, false});
  const VertexId leaf = graph.add({"leaf", VertexKind::network_switch, 0, 2});
  const VertexId spine = graph.add({"spine", VertexKind::network_switch, 0, 16});
  const auto kind = graph.add(wire("wire", 50_GBps));
  for (VertexId d = 0; d < 32; ++d) graph.connect(device + d, leaf + d / 16, kind);
  for (VertexId s = 0; s < 16; ++s) graph.connect(leaf, spine + s, kind), graph.connect(leaf + 1, spine + s, kind);
  graph.finish();
  Router router(graph);
  const std::vector<Group> groups = {group({{2, 16}}, {{16, 1}})};
  const std::vector<Traffic> traffic = {{FlowPattern::pair, 0}};
  EXPECT_EQ(rates(fold_graph(graph, router, groups, traffic, {})), std::vector{50e9});
  GraphFoldOptions hashed;
  hashed.paths = {PathChoice::Kind::hashed, 1, 1};
  const Folding folding = fold_graph(graph, router, groups, traffic, hashed);
  const auto slow = rates(folding);
  ASSERT_GT(slow.size(), 1U);
  // k flows on one uplink get 50 / k each: balls into bins.
  std::vector<int> uplink(16, 0);
  for (VertexId d = 0; d < 16; ++d) {
    const auto path = router.hashed_path({device + d, device + d + 16, 0}, 1);
    ++uplink[graph.to(path[1]) - spine];
  }
  EXPECT_NEAR(slow.front(), 50e9 / *std::ranges::max_element(uplink), 1e3);
  // More queue pairs: a flow goes at the pace of its parts together, which are more even.
  hashed.paths.queue_pairs = 64;
  EXPECT_GT(rates(fold_graph(graph, router, groups, traffic, hashed)).front(), 1.3 * slow.front());
}

TEST(GraphFold, FaultsAndBackgroundTakeFromTheirLinkAlone) {
  NetworkGraph graph;
  graph.add({"device", VertexKind::device, 0, 4, false});
  const VertexId hub = graph.add({"hub", VertexKind::network_switch, 0, 1});
  const auto kind = graph.add(wire("wire", 40_GBps));
  for (VertexId d = 0; d < 4; ++d) graph.connect(d, hub, kind);
  graph.set_health(0, 0.5);
  graph.finish();
  Router router(graph);
  const std::vector<Group> groups = {group({{2, 1}}, {{2, 2}})};
  const std::vector<Traffic> traffic = {{FlowPattern::pair, 0}};
  EXPECT_EQ(rates(fold_graph(graph, router, groups, traffic, {})), (std::vector{20e9, 40e9}));
  GraphFoldOptions options;
  options.background.assign(graph.edge_count(), 0);
  options.background[2 * 3 + 1] = 0.75;  // hub -> device 3
  EXPECT_EQ(rates(fold_graph(graph, router, groups, traffic, options)), (std::vector{10e9, 20e9}));
  options.background[2 * 3 + 1] = 1;
  EXPECT_THROW(fold_graph(graph, router, groups, traffic, options), UserError);
}

TEST(GraphFold, TheFluidFabricPlaysOnIt) {
  struct Listener : BundleListener {
    std::vector<bool> alike;
    void on_bundle_done(std::uint64_t /*token*/, bool is_alike) override { alike.push_back(is_alike); }
  } listener;
  Engine engine;
  FluidFabric fabric(graph_folder(std::make_shared<NetworkGraph>(torus(4)), {}, {}), engine, listener);
  const std::vector<Group> groups = {group({{4, 1}}, {{4, 4}}), group({{4, 4}}, {{4, 1}})};
  const std::vector<Traffic> traffic = {{FlowPattern::ring, 0}, {FlowPattern::ring, 1}};
  fabric.prepare(groups, traffic);
  fabric.start(test::bundle(FlowPattern::ring, 0, 1_GB), 0);
  fabric.start(test::bundle(FlowPattern::ring, 1, 1_GB), 1);  // the other dimension: nothing in common
  engine.run();
  EXPECT_EQ(engine.now(), 1_GB / 10_GBps);
  EXPECT_EQ(listener.alike, (std::vector{true, true}));
  EXPECT_EQ(fabric.counters().variables, 2U);
}

// A transfer over a full mesh of 5: one direct way and 3 around, a quarter each.
TEST(GraphFold, AllPathRoutingCountsEveryWay) {
  NetworkGraph graph;
  graph.add({"device", VertexKind::device, 0, 5, true});
  const auto kind = graph.add(wire("wire", 10_GBps));
  for (VertexId a = 0; a < 5; ++a) {
    for (VertexId b = a + 1; b < 5; ++b) graph.connect(a, b, kind);
  }
  graph.finish();
  AllPathRouter router(graph, 1);
  const std::vector<Group> groups = {group({{2, 1}}, {})};
  const std::vector<Traffic> traffic = {{FlowPattern::pair, 0}};
  EXPECT_EQ(rates(fold_graph(graph, router, groups, traffic, {})), std::vector{40e9});
}

// Four flows of two leaves over four spines: each takes the way that the others left.
TEST(GraphFold, AdaptiveFlowsAvoidEachOther) {
  NetworkGraph graph;
  const VertexId device = graph.add({"device", VertexKind::device, 0, 8, false});
  const VertexId leaf = graph.add({"leaf", VertexKind::network_switch, 0, 2});
  const VertexId spine = graph.add({"spine", VertexKind::network_switch, 0, 4});
  const auto kind = graph.add(wire("wire", 50_GBps));
  for (VertexId d = 0; d < 8; ++d) graph.connect(device + d, leaf + d / 4, kind);
  for (VertexId s = 0; s < 4; ++s) graph.connect(leaf, spine + s, kind), graph.connect(leaf + 1, spine + s, kind);
  graph.finish();
  AdaptiveRouter router(graph);
  GraphFoldOptions options;
  options.paths.kind = PathChoice::Kind::hashed;
  const std::vector<Group> groups = {group({{2, 4}}, {{4, 1}})};
  const std::vector<Traffic> traffic = {{FlowPattern::pair, 0}};
  EXPECT_EQ(rates(fold_graph(graph, router, groups, traffic, options)), std::vector{50e9});
}

// Four transfers from one leaf to the other over four spines, as a cluster file says.
Time four_across(const std::string& conditions) {
  const auto value = parse_config_text(
      "kind: fat_tree\nnode: {gpus: 2, nvlink: {links: 1, rate: 100 GB/s}}\nnic: {count: 2, rate: 50 GB/s}\n"
      "tiers: [{name: leaf, of: 2}, {name: spine, of: 2, switches: 4}]\n" +
          conditions,
      "test.yaml");
  Diagnostics diagnostics;
  const auto topology = make_topology(value, 8, diagnostics);
  diagnostics.throw_if_any();
  struct Silent : BundleListener {
    void on_bundle_done(std::uint64_t /*token*/, bool /*alike*/) override {}
  } listener;
  Engine engine;
  FluidFabric fabric(topology, engine, listener);
  const std::vector<Group> groups = {group({{2, 4}}, {{4, 1}})};
  const std::vector<Traffic> traffic = {{FlowPattern::pair, 0}};
  fabric.prepare(groups, traffic);
  fabric.start(test::bundle(FlowPattern::pair, 0, 1_GB), 0);
  engine.run();
  return engine.now();
}

TEST(GraphFold, ConditionsOfANetworkReachTheFabric) {
  EXPECT_EQ(four_across(""), 1_GB / 50_GBps);
  EXPECT_EQ(four_across("routing: {policy: spray}\n"), 1_GB / 50_GBps);
  EXPECT_EQ(four_across("routing: {policy: adaptive}\n"), 1_GB / 50_GBps);
  EXPECT_EQ(four_across("background: [{a: leaf 0, b: spine *, share: 0.5}]\n"), 1_GB / 25_GBps);
  EXPECT_EQ(four_across("degraded: [{a: leaf 0, b: spine *, share: 0.25}]\n"), 4_GB / 50_GBps);
  EXPECT_EQ(four_across("faults: [{vertex: spine 1}, {vertex: spine 2}]\n"), 1_GB / 25_GBps);
  // By hash two of four meet somewhere under some seed, never under spraying.
  bool collide = false;
  for (const char* seed : {"1", "2", "3"}) {
    const Time took = four_across(std::string("routing: {policy: ecmp, seed: ") + seed + "}\n");
    EXPECT_GE(took, 1_GB / 50_GBps);
    collide = collide || took >= 2_GB / 50_GBps;
  }
  EXPECT_TRUE(collide);
}

TEST(GraphFold, MistakesAreTheUsers) {
  const NetworkGraph graph = torus(4);
  Router router(graph);
  const auto folded = [&](FlowPattern pattern, const Group& members, const GraphFoldOptions& options = {}) {
    const std::vector<Group> groups = {members};
    const std::vector<Traffic> traffic = {{pattern, 0}};
    return fold_graph(graph, router, groups, traffic, options);
  };
  EXPECT_THROW(folded(FlowPattern::ring, group({{17, 1}}, {})), UserError);
  EXPECT_THROW(folded(FlowPattern::pair, group({{2, -1}}, {})), UserError);
  EXPECT_THROW(folded(FlowPattern::ports, group({{4, 1}}, {})), UserError);  // no switch
  GraphFoldOptions few;
  few.most_shares = 10;
  EXPECT_THROW(folded(FlowPattern::ring, group({{4, 1}}, {{4, 4}}), few), UserError);
}

}  // namespace
}  // namespace warploom
