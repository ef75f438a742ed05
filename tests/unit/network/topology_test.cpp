// SPDX-License-Identifier: Apache-2.0
// Topologies against what their builders publish: port counts, bisection, diameter, routes.
#include "network/topology.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "sim/core/errors.hpp"
#include "tests/unit/network/network_fixture.hpp"

namespace warploom {
namespace {

std::shared_ptr<const TieredTopology> cluster_network(const std::string& name, std::int64_t devices,
                                                      const std::vector<std::string>& overrides = {}) {
  const Library library({WARPLOOM_SOURCE_DIR "/configs"});
  const auto cluster = load_config(WARPLOOM_SOURCE_DIR "/configs/clusters/" + name + ".yaml", overrides, library);
  Diagnostics diagnostics;
  std::shared_ptr<const Topology> made = topology_registry().make(*cluster.find("network"), diagnostics, devices);
  diagnostics.throw_if_any();
  return std::dynamic_pointer_cast<const TieredTopology>(made);
}

std::string failure(const std::string& text, std::int64_t devices) {
  try {
    test::topology(text, devices);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Topology, Nvl72Has129Point6TerabytesASecond) {
  const Library library({WARPLOOM_SOURCE_DIR "/configs"});
  const auto value = parse_config_text("kind: nvlink_switch\nnode: {use: fabrics/nvl72}\n", "test.yaml", {}, library);
  Diagnostics diagnostics;
  const auto rack = topology_registry().make(value, diagnostics, 72);
  diagnostics.throw_if_any();
  EXPECT_DOUBLE_EQ((rack->injection() * 2).value(), 129.6e12);  // both ways; scenario A12
  EXPECT_EQ(dynamic_cast<const TieredTopology&>(*rack).summary()[0].ports_down, 72);
  EXPECT_EQ(rack->diameter(), 2);
  EXPECT_EQ(rack->bisection(), rack->injection() / 2);
}

TEST(Topology, MetaClusterIsEightPodsOf3072InRacksOf16) {
  const auto meta = cluster_network("meta_24k_h100", 24576);
  EXPECT_EQ(meta->cluster_size(), 24576);
  const auto tiers = meta->summary();
  ASSERT_EQ(tiers.size(), 4U);
  EXPECT_EQ(tiers[1].switches, 8 * 192);  // racks
  EXPECT_EQ(tiers[1].ports_down, 16);     // devices of a rack
  EXPECT_EQ(tiers[2].switches, 8);        // pods
  EXPECT_EQ(tiers[2].ports_down, 192);
  EXPECT_EQ(meta->tiers()[3].span, 3072);
  EXPECT_DOUBLE_EQ(tiers[1].up.value(), (16 * 50_GBps).value());  // full bisection inside a pod
  EXPECT_DOUBLE_EQ(tiers[2].up.value(), (3072 * 50_GBps / 7).value());
  EXPECT_DOUBLE_EQ(meta->bisection().value(), (24576 * 50_GBps / 7 / 2).value());
  EXPECT_EQ(meta->diameter(), 6);  // card, rack, pod, and down
}

TEST(Topology, SuperPodHas32NodesAndEightLeavesAUnitAndFullBisection) {
  const auto pod = cluster_network("dgx_h100", 1024);
  const auto tiers = pod->summary();
  EXPECT_EQ(tiers[1].ports_down, 32);    // one card of each of the unit's nodes
  EXPECT_EQ(tiers[1].switches, 64 * 8);  // 64 units
  EXPECT_EQ(pod->cluster_size(), 2048 * 8);
  EXPECT_DOUBLE_EQ(pod->bisection().value(), (2048 * 8 * 50_GBps / 2).value());
  EXPECT_EQ(pod->injection(), 2048 * 8 * 50_GBps);
}

TEST(Topology, SeleneHas4480DevicesOn200GigabitCards) {
  const auto selene = cluster_network("selene_a100", 3072);
  EXPECT_EQ(selene->cluster_size(), 560 * 8);
  EXPECT_EQ(selene->device_count(), 3072);
  EXPECT_DOUBLE_EQ(selene->tiers()[0].rate.value(), 300e9);
  EXPECT_DOUBLE_EQ(selene->tiers()[1].rate.value(), 25e9);
}

TEST(Topology, RoutesClimbToTheFirstCommonSwitch) {
  const auto rails = test::topology(test::rail_text, 512);
  using enum Direction;
  const auto links = [&](Rank a, Rank b) {
    const Route route = rails->route(a, b);
    return std::vector<LinkId>(route.begin(), route.end());
  };
  EXPECT_TRUE(links(5, 5).empty());
  EXPECT_EQ(links(1, 6), (std::vector<LinkId>{{0, up, 1}, {0, down, 6}}));
  EXPECT_EQ(links(1, 9), (std::vector<LinkId>{{1, up, 1}, {1, down, 9}}));  // same rail, same leaf
  EXPECT_EQ(links(1, 10), (std::vector<LinkId>{{1, up, 1}, {2, up, 1}, {2, down, 2}, {1, down, 10}}));  // other rail
  EXPECT_EQ(links(1, 33), (std::vector<LinkId>{{1, up, 1}, {2, up, 1}, {2, down, 9}, {1, down, 33}}));  // next unit
  EXPECT_EQ(links(1, 129),
            (std::vector<LinkId>{{1, up, 1}, {2, up, 1}, {3, up, 0}, {3, down, 1}, {2, down, 33}, {1, down, 129}}));
}

TEST(Topology, EveryRouteIsAsLongBothWaysAndWithinTheDiameter) {
  for (const auto& [text, devices] : {std::pair{test::rail_text, 512},
                                      {test::clos_text, 768},
                                      {test::few_cards_text, 480},
                                      {test::one_node_text, 8}}) {
    const auto topology = test::topology(text, devices);
    int longest = 0;
    for (Rank a = 0; a < devices; a += 7) {
      for (Rank b = 0; b < devices; ++b) {
        const auto there = topology->route(a, b);
        const auto back = topology->route(b, a);
        ASSERT_EQ(there.size(), back.size());
        for (std::size_t i = 0; i < there.size(); ++i) {
          const auto& link = there[i];
          const auto& mirror = back[back.size() - 1 - i];
          ASSERT_EQ(link.tier, mirror.tier);
          ASSERT_EQ(link.index, mirror.index);
          ASSERT_NE(link.direction, mirror.direction);
          ASSERT_LT(link.index, topology->tiers()[static_cast<std::size_t>(link.tier)].count);
        }
        longest = std::max(longest, static_cast<int>(there.size()));
      }
    }
    EXPECT_EQ(longest, topology->diameter());
  }
}

TEST(Topology, LatencyIsThatOfTheLinksOnTheRoute) {
  const std::string text =
      "kind: fat_tree\nnode: {gpus: 8, nvlink: {links: 18, rate: 25 GB/s, latency: 100 ns}}\n"
      "nic: {count: 8, rate: 50 GB/s, latency: 500 ns}\n"
      "tiers: [{name: rack, of: 2, latency: 1 us}, {name: pod, of: 4, latency: 3 us}, {name: core, of: 2}]\n";
  const auto clos = test::topology(text, 128);
  EXPECT_EQ(clos->latency(0, 1), 200_ns);
  EXPECT_EQ(clos->latency(0, 8), 1_us);
  EXPECT_EQ(clos->latency(0, 16), 3_us);
  EXPECT_EQ(clos->latency(0, 64), 9_us);
}

TEST(Topology, FewerCardsThanDevicesAreShared) {
  const auto few = test::topology(test::few_cards_text, 480);
  EXPECT_EQ(few->tiers()[1].span, 2);
  EXPECT_EQ(few->route(0, 8)[0], few->route(1, 8)[0]);
  EXPECT_EQ(few->summary()[1].switches, 20 * 4);  // four rails
}

TEST(Topology, MoreCardsThanDevicesAreBonded) {
  const auto more = test::topology(
      "kind: rail_fat_tree\nnode: {gpus: 8, nvlink: {links: 18, rate: 25 GB/s}}\nnic: {count: 16, rate: 200 "
      "Gb/s}\ntiers: [{name: leaf, of: 4}, {name: spine, of: 2}]\n",
      64);
  EXPECT_EQ(more->tiers()[1].rate, 50_GBps);
  EXPECT_EQ(more->summary()[1].ports_down, 4 * 2);
  EXPECT_EQ(more->summary()[1].up, 4 * 2 * 25_GBps);
}

TEST(Topology, BadParametersSayWhatWouldDo) {
  EXPECT_NE(failure(test::clos_text, 0).find("expected at least 1 device, got 0"), std::string::npos);
  EXPECT_NE(failure(test::clos_text, -8).find("expected at least 1 device"), std::string::npos);
  const auto many = failure(test::clos_text, 1000);
  EXPECT_NE(many.find("the job wants 1000 devices; the cluster has 768"), std::string::npos) << many;
  EXPECT_NE(many.find("1 core, 8 pod, 48 rack, 96 node of 8 devices each"), std::string::npos) << many;
  const auto with = [](std::string text, const std::string& from, const std::string& to) {
    return text.replace(text.find(from), from.size(), to);
  };
  EXPECT_NE(failure(with(test::clos_text, "400 Gb/s", "0 Gb/s"), 8).find("nic.rate"), std::string::npos);
  EXPECT_NE(failure(with(test::clos_text, "400 Gb/s", "-400 Gb/s"), 8).find("nic.rate"), std::string::npos);
  EXPECT_NE(failure(with(test::clos_text, "400 Gb/s", "400"), 8).find("expected a bandwidth"), std::string::npos);
  EXPECT_NE(failure(with(test::clos_text, "oversubscription: 7", "oversubscription: 0"), 8).find("oversubscription"),
            std::string::npos);
  EXPECT_NE(failure(with(test::clos_text, "oversubscription: 7", "oversubscription: -1"), 8).find("oversubscription"),
            std::string::npos);
  EXPECT_NE(failure(with(test::clos_text, "name: core", "oversubscription: 2, name: core"), 8)
                .find("`core` is the last tier: it has no uplinks"),
            std::string::npos);
  EXPECT_NE(failure(with(test::clos_text, "gpus: 8", "gpus: 0"), 8).find("node.gpus"), std::string::npos);
  EXPECT_NE(
      failure(with(test::clos_text, "count: 8", "count: 3"), 8).find("3 cards cannot be shared evenly by 8 devices"),
      std::string::npos);
  EXPECT_NE(failure(with(test::clos_text, "of: 6", "of: 999999"), 8).find("a cluster of"), std::string::npos);
  EXPECT_NE(failure(with(test::clos_text, "fat_tree", "fat_three"), 8).find("fat_tree"), std::string::npos);
  EXPECT_NE(failure("kind: rail_fat_tree\n" + test::node_text + "tiers: [{name: leaf, of: 4}]\n", 8)
                .find("leaves alone leave the rails apart"),
            std::string::npos);
  EXPECT_NE(failure("kind: fat_tree\n" + test::node_text + "tiers: []\n", 8).find("at least one tier"),
            std::string::npos);
  EXPECT_NE(failure(with(test::clos_text, "nic:", "nick:"), 8).find("nic"), std::string::npos);
}

TEST(Topology, ARankThatIsNotThereIsNamed) {
  const auto clos = test::topology(test::clos_text, 64);
  try {
    clos->route(0, 64);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "error: there is no rank 64: the job uses 64 devices, ranks 0 to 63");
  }
}

}  // namespace
}  // namespace warploom
