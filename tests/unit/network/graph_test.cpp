// SPDX-License-Identifier: Apache-2.0
// A written-out network: names, ways, shares, faults.
#include "network/graph/graph.hpp"

#include <gtest/gtest.h>

#include "network/graph/routing.hpp"
#include "sim/core/errors.hpp"
#include "sim/core/units.hpp"

namespace warploom {
namespace {

using namespace literals;

// Two devices at each of two leaves, joined by `spines`.
NetworkGraph clos(std::uint32_t spines) {
  NetworkGraph graph;
  const VertexId device = graph.add({"device", VertexKind::device, 0, 4, false});
  const VertexId leaf = graph.add({"leaf", VertexKind::network_switch, 0, 2});
  const VertexId spine = graph.add({"spine", VertexKind::network_switch, 0, spines});
  LinkKind card;
  card.name = "nic";
  card.rate = 50_GBps;
  const auto nic = graph.add(card);
  for (VertexId i = 0; i < 4; ++i) graph.connect(device + i, leaf + i / 2, nic);
  for (VertexId l = 0; l < 2; ++l) {
    for (VertexId s = 0; s < spines; ++s) graph.connect(leaf + l, spine + s, nic);
  }
  graph.finish();
  return graph;
}

TEST(Graph, NamesElementsByGroupAndNumber) {
  const NetworkGraph graph = clos(2);
  EXPECT_EQ(graph.name(5), "leaf 1");
  EXPECT_EQ(graph.edge_name(2 * 4 + 1), "spine 0 -> leaf 0");
  EXPECT_EQ(graph.device_count(), 4);
}

TEST(Graph, EvenSplitSharesEqualCostWays) {
  const NetworkGraph graph = clos(4);
  Router router(graph);
  const auto shares = router.even_split(graph.device(0), graph.device(3));
  ASSERT_EQ(shares.size(), 1 + 4 + 4 + 1U);
  EXPECT_EQ(shares.front().share, 1.0);
  for (std::size_t i = 1; i < 9; ++i) EXPECT_EQ(shares[i].share, 0.25);
  EXPECT_EQ(shares.back().share, 1.0);
}

TEST(Graph, HashedPathsAreKeptAndSpread) {
  const NetworkGraph graph = clos(4);
  Router router(graph);
  std::vector<int> used(graph.edge_count());
  for (std::uint32_t channel = 0; channel < 400; ++channel) {
    const FlowKey flow{graph.device(0), graph.device(2), channel};
    const auto path = router.hashed_path(flow, 7);
    ASSERT_EQ(path.size(), 4U);
    EXPECT_EQ(path, router.hashed_path(flow, 7));
    ++used[path[1]];
  }
  for (const EdgeId edge : graph.out(4)) {
    if (graph.group_of(graph.to(edge)).name == "spine") {
      EXPECT_NEAR(used[edge], 100, 40);
    }
  }
}

TEST(Graph, DevicesThatDoNotForwardArePassedAround) {
  NetworkGraph graph;
  graph.add({"device", VertexKind::device, 0, 3, false});
  LinkKind wire;
  wire.name = "wire";
  wire.rate = 1_GBps;
  const auto kind = graph.add(wire);
  graph.connect(0, 1, kind);
  graph.connect(1, 2, kind);
  graph.finish();
  Router router(graph);
  EXPECT_THROW(router.even_split(0, 2), UserError);
  EXPECT_EQ(router.even_split(0, 1).size(), 1U);
}

TEST(Graph, WaysAvoidLinksThatAreDown) {
  NetworkGraph graph = clos(2);
  graph.set_health(4, 0);  // leaf 0 - spine 0
  graph.finish();
  Router router(graph);
  EXPECT_EQ(router.even_split(0, 3).size(), 4U);
}

TEST(Graph, RefusesSelfLinksMissingRatesAndLooseDevices) {
  NetworkGraph graph;
  graph.add({"device", VertexKind::device, 0, 2});
  LinkKind wire;
  wire.name = "wire";
  const auto kind = graph.add(wire);
  EXPECT_THROW(graph.connect(1, 1, kind), UserError);
  EXPECT_THROW(graph.finish(), UserError);  // nothing reaches the devices
  graph.connect(0, 1, kind);
  EXPECT_THROW(graph.finish(), UserError);  // no rate
}

}  // namespace
}  // namespace warploom
