// SPDX-License-Identifier: Apache-2.0
// Faults, degraded links, background load, placements and routing of any network.
#include "network/conditions.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "network/fabrics/fluid.hpp"
#include "network/graph/routing.hpp"
#include "network/inspection.hpp"
#include "sim/core/errors.hpp"
#include "tests/unit/network/network_fixture.hpp"

namespace warploom {
namespace {

using namespace literals;

// Two leaves of two nodes, four spines.
const std::string clos =
    "kind: fat_tree\nnode: {gpus: 2, nvlink: {links: 1, rate: 100 GB/s}}\nnic: {count: 2, rate: 50 GB/s, latency: 1 "
    "us}\n"
    "tiers: [{name: leaf, of: 2, latency: 1 us}, {name: spine, of: 2, switches: 4}]\n";

std::shared_ptr<const Topology> made(const std::string& text, std::int64_t devices,
                                     const std::string& file = "test.yaml") {
  const auto value = parse_config_text(text, file);
  Diagnostics diagnostics;
  auto topology = make_topology(value, devices, diagnostics);
  diagnostics.throw_if_any();
  report_unread(value, diagnostics);
  diagnostics.throw_if_any();
  return topology;
}

std::string failure(const std::string& text, std::int64_t devices) {
  try {
    made(text, devices);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

std::size_t ways(const Topology& topology, Rank from, Rank to) {
  const NetworkGraph graph = topology.graph();
  std::size_t up = 0;
  for (const EdgeShare& share : topology.router(graph)->even_split(graph.device(from), graph.device(to)))
    up += graph.group_of(graph.to(share.edge)).name == "spine" ? 1 : 0;
  return up;
}

TEST(Conditions, WithoutAnyTheTopologyStaysTiered) {
  EXPECT_NE(made(clos, 8)->tiered(), nullptr);
  EXPECT_EQ(ways(*made(clos, 8), 0, 7), 4U);
  EXPECT_EQ(made(clos, 0)->device_count(), 8);
}

TEST(Conditions, WaysLeadAroundFaults) {
  const auto broken = made(clos + "faults: [{vertex: spine 1}, {a: leaf 0, b: spine 2}]\n", 8);
  EXPECT_EQ(broken->tiered(), nullptr);
  EXPECT_EQ(ways(*broken, 0, 7), 2U);
  EXPECT_DOUBLE_EQ(broken->bisection().value(), 2 * 50e9);  // through spines 0 and 3
  EXPECT_EQ(broken->port(), 100_GBps);
  EXPECT_EQ(broken->node_size(), 2);
  const auto cables = inspect(*broken).cables;
  const auto leaf = std::ranges::find(cables, "leaf", &CableCount::name);
  EXPECT_EQ(leaf->down, 3);  // two of the spine, one more
}

TEST(Conditions, WhoNothingReachesAnyMoreIsNamed) {
  const std::string lost = failure(clos + "faults: [{vertex: leaf 1}]\n", 8);
  EXPECT_NE(lost.find("no way leads to `device 0` from `device 4`, `device 5`, `device 6`, `device 7`"),
            std::string::npos)
      << lost;
  EXPECT_EQ(failure(clos + "faults: [{vertex: leaf 1}]\n", 4), "no error");  // the job does not need it
}

// Rails of four devices, two nodes under them.
const std::string rails =
    "kind: rail_fat_tree\nnode: {gpus: 4, nvlink: {links: 4, rate: 100 GB/s}}\nnic: {count: 4, rate: 50 GB/s}\n"
    "tiers: [{name: leaf, of: 2}, {name: spine, of: 2}]\n";

// The pace of equal transfers from each device of node 0 to its peer in node 1, alone on the network.
double pace(const std::shared_ptr<const Topology>& topology, Rank first, std::int64_t flows) {
  struct Silent : BundleListener {
    void on_bundle_done(std::uint64_t /*token*/, bool /*alike*/) override {}
  } listener;
  Engine engine;
  FluidFabric fabric(topology, engine, listener);
  const std::vector<Group> groups = {test::group({{2, topology->node_size()}}, {{flows, 1}}, first)};
  const std::vector<Traffic> traffic = {{FlowPattern::pair, 0}};
  fabric.prepare(groups, traffic);
  fabric.start(test::bundle(FlowPattern::pair, 0, Bytes(6'000'000'000)), 0);
  engine.run();
  return 6.0 / engine.now().seconds();
}

// Alone, a device without a card has those of the three beside it; all four at once share three cards.
TEST(Conditions, ADeviceWhoseCardIsDownGoesOverItsNeighboursCards) {
  const auto sound = made(rails, 16);
  const auto broken = made(rails + "faults: [{vertex: card 0}]\n", 16);
  EXPECT_NEAR(pace(sound, 0, 1), 50, 1e-6);
  EXPECT_NEAR(pace(sound, 0, 4), 50, 1e-6);
  EXPECT_NEAR(pace(broken, 1, 3), 50, 1e-6);
  EXPECT_NEAR(pace(broken, 0, 4), 3 * 50 / 4.0, 1e-6);
  // Its peer's card is one: 50 GB/s at the other end, whatever the three could send.
  EXPECT_NEAR(pace(broken, 0, 1), 50, 1e-6);
  EXPECT_GT(broken->diameter(), sound->diameter());
}

TEST(Conditions, ALeafThatIsDownLeavesTheOtherRails) {
  const auto broken = made(rails + "faults: [{vertex: leaf 0}]\n", 16);
  EXPECT_NEAR(pace(broken, 0, 4), 3 * 50 / 4.0, 1e-6);
}

TEST(Conditions, ACardThatIsDownLeavesOtherWaysAsTheyWere) {
  const auto sound = made(rails, 16);
  const auto broken = made(rails + "faults: [{vertex: card 0}]\n", 16);
  const NetworkGraph before = sound->graph();
  const NetworkGraph after = broken->graph();
  for (Rank from = 1; from < 16; ++from) {
    for (Rank to = 1; to < 16; ++to) {
      EXPECT_EQ(sound->router(before)->even_split(before.device(from), before.device(to)),
                broken->router(after)->even_split(after.device(from), after.device(to)));
    }
  }
}

TEST(Conditions, ADeviceWithoutAnyWayOutIsAnError) {
  EXPECT_NE(failure(rails + "faults: [{vertex: card 0-3}]\n", 16).find("no way leads to"), std::string::npos);
  EXPECT_NE(failure(rails + "faults: [{vertex: card 0}, {a: device 0, b: nvswitch 0}]\n", 16)
                .find("no link reaches `device 0`"),
            std::string::npos);
}

TEST(Conditions, DegradedLinksKeepTheirShare) {
  const auto slow = made(clos + "degraded: [{kind: leaf, share: 0.5}]\n", 8);
  EXPECT_DOUBLE_EQ(slow->bisection().value(), 4 * 25e9);
}

TEST(Conditions, BackgroundIsToldByEdge) {
  const auto busy = made(clos + "background: [{a: leaf 0, b: spine *, share: 0.25}]\n", 8);
  const NetworkGraph graph = busy->graph();
  const auto background = busy->background();
  ASSERT_EQ(background.size(), graph.edge_count());
  double sum = 0;
  for (EdgeId edge = 0; edge < graph.edge_count(); ++edge) {
    EXPECT_TRUE(background[edge] == 0 || graph.edge_name(edge).find("leaf 0") != std::string::npos);
    sum += background[edge];
  }
  EXPECT_DOUBLE_EQ(sum, 8 * 0.25);
  EXPECT_NE(failure(clos + "background: [{kind: leaf, share: 0.6}, {kind: leaf, share: 0.4}]\n", 8)
                .find("others fill the link"),
            std::string::npos);
}

TEST(Conditions, RanksGoWhereTheHostListSays) {
  EXPECT_EQ(made(clos, 8)->latency(0, 3), 2_us);  // nodes 0 and 1: one leaf
  const auto apart = made(clos + "placement: {hosts: [0, 3, 1-2]}\n", 8);
  EXPECT_EQ(apart->latency(0, 3), 4_us);  // nodes 0 and 3
  EXPECT_EQ(apart->latency(0, 5), 2_us);  // nodes 0 and 1
  const auto some = made(clos + "placement: {hosts: [3, 0]}\n", 4);
  EXPECT_EQ(some->device_count(), 4);
  EXPECT_EQ(some->cluster_size(), 8);
  EXPECT_EQ(some->latency(0, 2), 4_us);
}

TEST(Conditions, RankFilesAreListsOfDevices) {
  const auto folder = std::filesystem::temp_directory_path() / "warploom_placement_test";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "ranks.txt") << "# rank file\n6-7\n\n0-1  # node 0\n";
  const auto placed = made(clos + "placement: {file: ranks.txt}\n", 4, (folder / "cluster.yaml").string());
  EXPECT_EQ(placed->latency(0, 2), 4_us);
  std::filesystem::remove_all(folder);
}

TEST(Conditions, BadPlacementsSayWhat) {
  const auto expect = [](const std::string& text, const std::string& message) {
    const std::string got = failure(clos + text, 8);
    EXPECT_NE(got.find(message), std::string::npos) << got;
  };
  expect("placement: {hosts: [0, 4]}\n", "there is no host 4");
  expect("placement: {hosts: [0, 0, 1, 2]}\n", "device 0 has two ranks");
  expect("placement: {hosts: [0, 1]}\n", "the job uses 8 devices, the placement has 4");
  expect("placement: {devices: [0, 2, 1, 3, 4-7]}\n", "ranks 0 and 1 should share a node, but are devices 0 and 2");
  expect("placement: {hosts: [x]}\n", "expected a host such as `3` or `0-7`, got `x`");
  expect("placement: {}\n", "expected one of `hosts`, `devices` and `file`");
  expect("placement: {file: /no/such/file}\n", "/no/such/file");
}

TEST(Conditions, BadConditionsSayWhere) {
  const auto expect = [](const std::string& text, const std::string& message) {
    const std::string got = failure(clos + text, 8);
    EXPECT_NE(got.find(message), std::string::npos) << got;
  };
  expect("faults: [{vertex: spine 9}]\n", "test.yaml:5:10: error: `faults[0]`: nothing is called `spine 9`");
  expect("faults: [{a: leaf 0}]\n", "expected `vertex`, or `a` and `b`");
  expect("faults: [{a: leaf 0, b: leaf 1}]\n", "no link joins `leaf 0` with `leaf 1`");
  expect("faults: [{a: leaf 0, b: spine 0, links: 5}]\n",
         "`faults[0]`: `leaf 0` and `spine 0` are joined by 1 link, not 5");
  expect("degraded: [{kind: lead, share: 0.5}]\n", "no links are of kind `lead`");
  expect("degraded: [{kind: leaf, share: 1.5}]\n", "degraded[0].share");
  expect("routing: {policy: magic}\n", "routing.policy");
}

TEST(Conditions, PoliciesMakeTheirRouters) {
  const auto policy = [](const std::string& name) { return made(clos + "routing: {policy: " + name + "}\n", 8); };
  const auto tables = policy("static");
  EXPECT_EQ(tables->routing().policy, RoutingPolicy::static_tables);
  EXPECT_EQ(ways(*tables, 0, 7), 1U);
  EXPECT_EQ(ways(*policy("ecmp"), 0, 7), 4U);
  EXPECT_EQ(ways(*policy("spray"), 0, 7), 4U);
}

}  // namespace
}  // namespace warploom
