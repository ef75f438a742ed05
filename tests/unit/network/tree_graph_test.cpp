// SPDX-License-Identifier: Apache-2.0
// Trees written out: switches and cables against what their builders publish, ways and rates against the tiers.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "network/graph/routing.hpp"
#include "sim/core/errors.hpp"
#include "tests/unit/network/network_fixture.hpp"

namespace warploom {
namespace {

using namespace literals;

std::map<std::string, std::int64_t> switches_of(const NetworkGraph& graph) {
  std::map<std::string, std::int64_t> count;
  for (const VertexGroup& group : graph.groups()) {
    if (group.kind == VertexKind::network_switch) count[group.name] += group.count;
  }
  return count;
}

std::map<std::string, std::int64_t> cables_of(const NetworkGraph& graph) {
  std::map<std::string, std::int64_t> count;
  for (const GraphLink& link : graph.links()) count[graph.kinds()[link.kind].name] += link.width;
  return count;
}

std::string superpod(int units_per_spine, int cores) {
  std::string text =
      "kind: rail_fat_tree\nnode: {gpus: 8, nvlink: {links: 18, rate: 25 GB/s}}\nnic: {count: 8, rate: 400 Gb/s}\n"
      "tiers: [{name: leaf, of: 32}, {name: spine, of: " +
      std::to_string(units_per_spine) + "}";
  if (cores > 0) text += ", {name: core, of: " + std::to_string(cores) + "}";
  return text + "]\n";
}

// NVIDIA DGX SuperPOD reference architecture of DGX B200 (and DGX H100, RA-11333-001), table 3: larger component
// counts. SU: leaf, spine, core switches; node-leaf, leaf-spine, spine-core cables.
TEST(TreeGraph, SuperPodHasThePublishedSwitchesAndCables) {
  struct Row {
    int units;
    int units_per_spine;
    std::int64_t leaf, spine, core, node_leaf, leaf_spine, spine_core;
  };
  for (const Row& row : {Row{2, 2, 16, 8, 0, 512, 512, 0},
                         {4, 4, 32, 16, 0, 1024, 1024, 0},
                         {8, 8, 64, 32, 0, 2048, 2048, 0},
                         {16, 4, 128, 128, 64, 4096, 4096, 4096},
                         {32, 4, 256, 256, 128, 8192, 8192, 8192},
                         {64, 4, 512, 512, 256, 16384, 16384, 16384}}) {
    const auto pod = test::topology(superpod(row.units_per_spine, row.core > 0 ? row.units / row.units_per_spine : 0),
                                    row.units * 256);
    const NetworkGraph graph = pod->graph();
    auto switches = switches_of(graph);
    auto cables = cables_of(graph);
    EXPECT_EQ(switches["leaf"], row.leaf) << row.units;
    EXPECT_EQ(switches["spine"], row.spine) << row.units;
    EXPECT_EQ(switches["core"], row.core) << row.units;
    EXPECT_EQ(cables["nic"], row.node_leaf);
    EXPECT_EQ(cables["leaf"], row.leaf_spine);
    EXPECT_EQ(cables["spine"], row.spine_core);
    for (VertexId v = 0; v < graph.vertex_count(); ++v) {
      if (graph.group_of(v).name == "nvswitch" || graph.group_of(v).kind != VertexKind::network_switch) continue;
      ASSERT_EQ(graph.out(v).size(), 64U) << graph.name(v);  // QM9700: every port is used
    }
  }
}

TEST(TreeGraph, WaysHaveTheTiersLatencyAndEnoughRate) {
  for (const auto& [text, devices] : {std::pair{test::rail_text, 512},
                                      {test::clos_text, 768},
                                      {test::few_cards_text, 480},
                                      {test::one_node_text, 8}}) {
    const auto tree = test::topology(text, devices);
    const NetworkGraph graph = tree->graph();
    const auto router = tree->router(graph);
    ASSERT_EQ(graph.device_count(), devices);
    for (Rank from = 0; from < devices; from += 37) {
      for (Rank to = 0; to < devices; to += 29) {
        if (from == to) continue;
        Time sum = Time::zero();
        std::size_t inner = 0;
        for (const EdgeId edge : router->hashed_path({graph.device(from), graph.device(to), 3}, 1)) {
          sum += graph.kind(edge).latency;
          inner += graph.kind(edge).name == "pcie" ? 0U : 1U;
        }
        ASSERT_EQ(sum, tree->latency(from, to));
        ASSERT_EQ(inner, tree->route(from, to).size());
      }
    }
    // The cables of all parallel switches carry what the tiers' links carry.
    std::map<std::string, double> rate;
    for (EdgeId edge = 0; edge < graph.edge_count(); edge += 2)
      rate[graph.kind(edge).name] += graph.payload(edge).value();
    for (const LinkTier& tier : tree->tiers()) {
      EXPECT_NEAR(rate[tier.name], tier.payload().value() * static_cast<double>(tier.count), 1e-9 * rate[tier.name])
          << tier.name;
    }
  }
}

// NVIDIA DGX SuperPOD reference architecture of DGX A100 (RA-10207-001): 140 systems, 56 leaves, 80 spines in a group a
// rail, 28 cores that join the rails, 1,120 cables between any two tiers.
TEST(TreeGraph, A100SuperPodHasASpineGroupARailBelowItsCores) {
  const auto pod = test::topology(
      "kind: rail_fat_tree\nnode: {gpus: 8, nvlink: {links: 12, rate: 25 GB/s}}\nnic: {count: 8, rate: 200 Gb/s}\n"
      "tiers: [{name: leaf, of: 20}, {name: spine, of: 7, switches: 80}, {name: core, of: 1}]\n",
      1120);
  const NetworkGraph graph = pod->graph();
  auto switches = switches_of(graph);
  switches.erase("nvswitch");
  EXPECT_EQ(switches, (std::map<std::string, std::int64_t>{{"leaf", 56}, {"spine", 80}, {"core", 28}}));
  auto cables = cables_of(graph);
  for (const char* tier : {"nic", "leaf", "spine"}) EXPECT_EQ(cables[tier], 1120) << tier;
  const auto router = pod->router(graph);
  const auto hops = [&](Rank from, Rank to) {
    return router->hashed_path({graph.device(from), graph.device(to), 0}, 1).size() - 2;  // but PCIe
  };
  EXPECT_EQ(hops(0, 8), 2U);           // under one leaf
  EXPECT_EQ(hops(0, 20 * 8), 4U);      // the rail's spines
  EXPECT_EQ(hops(0, 20 * 8 + 1), 6U);  // another rail: through a core
}

TEST(TreeGraph, OnlyWhatTheDevicesNeedIsWrittenOut) {
  const auto one = test::topology(test::clos_text, 16)->graph();  // one rack
  EXPECT_EQ(switches_of(one), (std::map<std::string, std::int64_t>{{"nvswitch", 2}, {"rack", 1}}));
  const auto rails = test::topology(superpod(4, 0), 16)->graph();  // rails meet at spines
  EXPECT_EQ(switches_of(rails), (std::map<std::string, std::int64_t>{{"nvswitch", 2}, {"leaf", 8}, {"spine", 16}}));
}

TEST(TreeGraph, CardsOfSeveralPlanesHaveATreeInEach) {
  const auto two = test::topology(
      "kind: rail_fat_tree\nnode: {gpus: 8, nvlink: {links: 18, rate: 25 GB/s}}\n"
      "nic: {count: 8, rate: 400 Gb/s, planes: 2}\n"
      "tiers: [{name: leaf, of: 32}, {name: spine, of: 4}]\n",
      1024);
  const NetworkGraph graph = two->graph();
  EXPECT_EQ(switches_of(graph)["leaf"], 2 * 32);
  EXPECT_EQ(switches_of(graph)["spine"], 2 * 16);
  const auto shares = two->router(graph)->even_split(graph.device(0), graph.device(8));
  EXPECT_DOUBLE_EQ(shares[1].share, 0.5);  // half the bytes into each plane
}

TEST(TreeGraph, MoreSwitchesThanUplinksReachAreRefused) {
  const std::string text =
      "kind: fat_tree\nnode: {gpus: 8, nvlink: {links: 18, rate: 25 GB/s}}\nnic: {count: 8, rate: 400 Gb/s}\n"
      "tiers: [{name: rack, of: 2}, {name: pod, of: 192, switch: {radix: 64}}]\n";
  try {
    test::topology(text, 3072);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("tier `pod` needs 48 switches of 64 ports, but the 16 uplinks"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace warploom
