// SPDX-License-Identifier: Apache-2.0
// Counts of an inspection, and what its picture draws as one.
#include "network/inspection.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "network/graph/quotient.hpp"
#include "tests/unit/network/network_fixture.hpp"

namespace warploom {
namespace {

using namespace literals;

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

TEST(Quotient, SeesAClusterFromItsFirstDevice) {
  const NetworkGraph graph = test::topology(test::rail_text, 512)->graph();
  const Quotient quotient = quotient_of(graph);
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
