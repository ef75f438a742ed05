// SPDX-License-Identifier: Apache-2.0
// Counts of an inspection, and what its picture draws as one.
#include "network/inspection.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "network/graph/quotient.hpp"
#include "tests/unit/network/cluster_fixture.hpp"
#include "tests/unit/network/network_fixture.hpp"

namespace warploom {
namespace {

using namespace literals;
using test::with_conditions;

TEST(Inspection, AddsUpPortsOpticsPowerAndPrice) {
  const auto tree = test::any_topology(
      "kind: fat_tree\nnode: {gpus: 2, nvlink: {links: 3, rate: 100 GB/s}, nvswitch: {chips: 2}}\n"
      "nic: {count: 2, rate: 50 GB/s, latency: 1 us, cable: {medium: copper, price: 10}}\n"
      "tiers: [{name: leaf, of: 2, switch: {radix: 8, power: 100 W, price: 1000}, cable: {power: 5 W, price: 100}}, "
      "{name: spine, of: 4, switch: {radix: 8, power: 200 W}}]\n",
      16);
  const Inspection found = inspect(*tree);
  // 4 leaves of 4 + 4 ports, 2 spines of 8.
  EXPECT_EQ(found.switches(), 8 * 2 + 4 + 2);
  EXPECT_EQ(found.optics(), 2 * 16);
  EXPECT_EQ(found.power(), Power(4 * 100 + 2 * 200 + 16 * 5));
  EXPECT_DOUBLE_EQ(found.price(), 4 * 1000 + 16 * 10 + 16 * 100);
  const auto leaf = std::ranges::find(found.vertices, "leaf", &VertexCount::name);
  EXPECT_EQ(leaf->most_ports, 8);
  ASSERT_EQ(found.reach.size(), 2U);
  EXPECT_EQ(found.reach[0].devices, 3);  // node and leaf
  EXPECT_EQ(found.reach[1].devices, 12);
  EXPECT_EQ(found.reach[1].most, 2_us);
}

// Leaves of two nodes of two, four spines.
const std::string clos =
    "kind: fat_tree\nnode: {gpus: 2, nvlink: {links: 1, rate: 100 GB/s}}\nnic: {count: 2, rate: 50 GB/s}\n"
    "tiers: [{name: leaf, of: 2}, {name: spine, of: 4, switches: 4}]\n";

const VertexCount& of_name(const Inspection& found, const std::string& name) {
  return *std::ranges::find(found.vertices, name, &VertexCount::name);
}

// Eight of sixteen devices: two leaves, all four spines; their own injection, and what can cross between them.
TEST(Inspection, OfFewerDevicesCountsWhatTheyUse) {
  for (const std::string conditions : {"", "background: [{kind: leaf, share: 0.1}]\n"}) {
    const Inspection found = inspect(*with_conditions(clos + conditions, 8));
    EXPECT_TRUE(found.is_part());
    EXPECT_EQ(of_name(found, "device").count, 8);
    EXPECT_EQ(of_name(found, "card").count, 8);
    EXPECT_EQ(of_name(found, "nvswitch").count, 4);
    EXPECT_EQ(of_name(found, "leaf").count, 2);
    EXPECT_EQ(of_name(found, "spine").count, 4);
    EXPECT_EQ(found.injection, 8 * 50_GBps);
    EXPECT_DOUBLE_EQ(found.bisection.value(), 4 * 50e9);
    EXPECT_EQ(found.diameter, 4);
  }
  // Under one leaf nothing above it is used.
  const Inspection leaf = inspect(*with_conditions(clos + "background: [{kind: leaf, share: 0.1}]\n", 4));
  EXPECT_EQ(leaf.diameter, 2);
  EXPECT_EQ(leaf.switches(), 2 + 1);
}

// Three nodes: one against two, all of its cards. Nodes and their NVLink stay whole, so that nothing crosses there.
TEST(Inspection, CutsAnOddNumberOfNodesBetweenThem) {
  const std::string rails =
      "kind: rail_fat_tree\n" + test::node_text + "tiers: [{name: leaf, of: 4}, {name: spine, of: 4}]\n";
  const Inspection three = inspect(*with_conditions(rails, 24));
  EXPECT_EQ(three.bisection, 8 * 50_GBps);
  EXPECT_EQ(three.half_injection, 8 * 50_GBps);
  // Of two and a half nodes the half is in the larger part.
  const Inspection partial = inspect(*with_conditions(rails, 20));
  EXPECT_EQ(partial.bisection, 8 * 50_GBps);
  EXPECT_EQ(partial.half_injection, 8 * 50_GBps);
  const Inspection two = inspect(*with_conditions(rails, 16));
  EXPECT_DOUBLE_EQ(two.bisection_share(), 1);
}

// configs/examples/dragonfly_plus_72: a group of three nodes and one more, of the next group, against five; of each
// group one spine leads to the next, one to the one before. 8 cables from the first group to the third, 8 from the
// second group's spine before down to its other two leaves, 4 from the lone leaf up to its spine after; the four nodes
// have 32 cards.
TEST(Inspection, CutsADragonflyOfNineNodesInFourAndFive) {
  const Inspection found =
      inspect(*with_conditions("kind: dragonfly_plus\n" + test::node_text +
                                   "groups: 3\nleaves: 3\nspines: 2\nof: 1\nlocal_links: 4\nglobal_links: 8\n",
                               0));
  EXPECT_FALSE(found.is_part());
  EXPECT_DOUBLE_EQ(found.bisection.value(), (8 + 8 + 4) * 50e9);
  EXPECT_DOUBLE_EQ(found.half_injection.value(), 32 * 50e9);
  EXPECT_DOUBLE_EQ(found.bisection_share(), 0.625);
}

// Nothing to cut between nodes: four devices of one on four.
TEST(Inspection, CutsASingleNodeBetweenItsDevices) {
  const Inspection found = inspect(*with_conditions("kind: torus\ndimensions: [8]\nlinks: [{rate: 50 GB/s}]\n", 0));
  EXPECT_EQ(found.bisection, 2 * 50_GBps);
  EXPECT_EQ(found.half_injection, 8 * 50_GBps);
}

TEST(Inspection, OfAPlacementIsOfItsDevices) {
  const Inspection found = inspect(*with_conditions(clos + "placement: {hosts: [0, 3]}\n", 0));
  EXPECT_EQ(found.devices, 4);
  EXPECT_EQ(found.injection, 4 * 50_GBps);
  EXPECT_EQ(of_name(found, "leaf").count, 2);
  // Nodes 0 and 3, of two devices, under leaves 0 and 1.
  EXPECT_EQ(of_name(found, "device").first, 0);
  EXPECT_EQ(of_name(found, "device").last, 7);
  EXPECT_EQ(of_name(found, "nvswitch").last, 3);
  EXPECT_EQ(of_name(found, "leaf").last, 1);
  ASSERT_EQ(found.reach.size(), 2U);
  EXPECT_EQ(found.reach[1].links, 4);
}

TEST(Inspection, TellsWhatIsDownAndDegraded) {
  const auto topology =
      with_conditions(clos +
                          "faults: [{vertex: spine 1}]\ndegraded: [{a: leaf 0, b: spine 0, share: 0.25}]\n"
                          "background: [{a: leaf 1, b: spine 2, share: 0.5}]\n",
                      16);
  const Inspection found = inspect(*topology);
  EXPECT_EQ(of_name(found, "spine").count, 4);
  EXPECT_EQ(of_name(found, "spine").down, 1);
  EXPECT_EQ(found.switches_down(), 1);
  const auto leaf = std::ranges::find(found.cables, "leaf", &CableCount::name);
  EXPECT_EQ(leaf->down, 4);
  EXPECT_EQ(leaf->degraded, 1);
  EXPECT_DOUBLE_EQ(leaf->least_share, 0.25);
  EXPECT_EQ(leaf->busy, 1);
  EXPECT_DOUBLE_EQ(leaf->background, 0.5);
  // A class of its own in the picture, and the thin cable beside the sound ones.
  const NetworkGraph graph = topology->graph();
  const Quotient quotient = quotient_of(graph, whole_of(graph), 4);
  const auto is_alone = [&](const QuotientVertex& v) { return graph.name(v.sample) == "spine 1" && v.count == 1; };
  EXPECT_TRUE(std::ranges::any_of(quotient.vertices, is_alone));
  EXPECT_TRUE(std::ranges::any_of(quotient.links, [](const QuotientLink& link) { return link.health == 0.25; }));
}

TEST(Inspection, KnowsWhetherCardsLeadOutOfANode) {
  EXPECT_TRUE(inspect(*with_conditions(clos, 2)).leaves_by_card);
  EXPECT_TRUE(inspect(*with_conditions("kind: rail_fat_tree\nnode: {gpus: 2, nvlink: {links: 1, rate: 9 GB/s}}\nnic: "
                                       "{count: 8, rate: 5 GB/s}\ntiers: [{name: leaf, of: 4}, {name: spine, of: 2}]\n",
                                       16))
                  .leaves_by_card);
  EXPECT_FALSE(
      inspect(*with_conditions("kind: torus\ndimensions: [8]\nnode: 4\nlinks: [{rate: 50 GB/s}]\n", 0)).leaves_by_card);
  // Devices of a scale-up domain have cards, but meet without them.
  const std::string scale_up =
      "kind: scale_up_tree\nnode: 4\nlink: {links: 2, rate: 20 GB/s}\ntiers: [{name: l1, of: 32}]\n"
      "scale_out: {nic: {count: 4, rate: 5 GB/s}, between: {kind: rail_only, tiers: [{name: rdma, of: 16}]}}\n";
  EXPECT_FALSE(inspect(*with_conditions(scale_up, 8)).leaves_by_card);
  // What crosses takes both.
  const Inspection part = inspect(*with_conditions(scale_up, 16));
  EXPECT_EQ(part.injection, 16 * (2 * 20_GBps + 5_GBps));
  EXPECT_EQ(inspect(*with_conditions(scale_up, 32)).injection, 2 * part.injection);
  EXPECT_TRUE(inspect(*with_conditions(scale_up + "domains: 2\n", 16)).leaves_by_card);
}

// A part tells of what its ways would use, and of nothing else.
TEST(Inspection, OfAPartTellsItsFaults) {
  const Inspection found = inspect(*with_conditions(
      clos + "faults: [{vertex: spine 1}, {vertex: card 2}, {a: leaf 0, b: spine 3}, {vertex: leaf 3}]\n", 8));
  EXPECT_TRUE(found.is_part());
  EXPECT_EQ(of_name(found, "spine").count, 4);
  EXPECT_EQ(of_name(found, "spine").down, 1);
  EXPECT_EQ(of_name(found, "card").count, 8);
  EXPECT_EQ(of_name(found, "card").down, 1);
  EXPECT_EQ(of_name(found, "leaf").count, 2);  // leaf 3 is others'
  EXPECT_EQ(of_name(found, "leaf").down, 0);
  const auto leaf = std::ranges::find(found.cables, "leaf", &CableCount::name);
  EXPECT_EQ(leaf->count, 2 * 4 - 1);  // leaf 1's to spine 3 leads nowhere
  EXPECT_EQ(leaf->down, 2 + 1);       // spine 1's and leaf 0's
}

TEST(Quotient, ShowsTheLoadOfOthers) {
  const auto topology = with_conditions(clos + "background: [{a: leaf 1, b: spine 2, share: 0.5}]\n", 16);
  const NetworkGraph graph = topology->graph();
  for (const std::size_t whole : {4U, 1000U}) {
    const Quotient quotient = quotient_of(graph, whole_of(graph), whole, 60, topology->background());
    EXPECT_EQ(std::ranges::count(quotient.links, 0.5, &QuotientLink::background), 1) << whole;
  }
}

TEST(Inspection, SaysWhereNoRadixAndNoLatencyIsGiven) {
  const auto notes = [](const std::string& text) {
    std::string all;
    for (const std::string& note : inspect(*with_conditions(text, 16)).notes) all += note + "\n";
    return all;
  };
  EXPECT_NE(notes(clos).find("leaf: no radix is given"), std::string::npos);
  EXPECT_NE(notes(clos).find("latencies that are not given"), std::string::npos);
  EXPECT_EQ(notes("kind: fat_tree\nnode: {gpus: 2, nvlink: {links: 1, rate: 100 GB/s, latency: 1 us}}\n"
                  "nic: {count: 2, rate: 50 GB/s, latency: 1 us}\n"
                  "tiers: [{name: leaf, of: 2, latency: 1 us, switch: {radix: 8}}, {name: spine, of: 4}]\n")
                .find("radix"),
            std::string::npos);
}

TEST(Quotient, SeesAClusterFromItsFirstDevice) {
  const NetworkGraph graph = test::topology(test::rail_text, 512)->graph();
  const Quotient quotient = quotient_of(graph, whole_of(graph));
  EXPECT_FALSE(quotient.is_whole);
  std::int64_t devices = 0;
  std::int64_t cables = 0;
  bool is_alone = false;
  for (const QuotientVertex& vertex : quotient.vertices) {
    if (graph.group_of(vertex.sample).kind != VertexKind::device) continue;
    devices += vertex.count;
    is_alone = is_alone || (vertex.sample == graph.device(0) && vertex.count == 1);
  }
  for (const QuotientLink& link : quotient.links) cables += link.count;
  EXPECT_EQ(devices, 512);
  EXPECT_TRUE(is_alone);
  std::int64_t all = 0;
  for (const GraphLink& link : graph.links()) all += link.width;
  EXPECT_EQ(cables, all);
  EXPECT_LE(quotient.vertices.size(), 60U);
}

}  // namespace
}  // namespace warploom
