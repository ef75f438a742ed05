// SPDX-License-Identifier: Apache-2.0
// In-network reduction: once up, once down, a pipeline of packets.
#include "network/packet/reduction_tree.hpp"

#include <gtest/gtest.h>

#include "network/collective_estimate.hpp"
#include "tests/unit/network/cluster_fixture.hpp"
#include "tests/unit/network/packet_fixture.hpp"

namespace warploom {
namespace {

using namespace literals;
using test::PacketBench;
using test::plain;
using test::wire;

// 4 leaves of 4 devices under 2 spines: vertices 0 to 15, 16 to 19, 20 and 21.
NetworkGraph two_tiers() {
  NetworkGraph graph;
  graph.add({"device", VertexKind::device, 0, 16, false});
  graph.add({"leaf", VertexKind::network_switch, 0, 4});
  graph.add({"spine", VertexKind::network_switch, 0, 2});
  const auto kind = graph.add(wire(LinkProtocol::infiniband, 50_GBps, 300_ns));
  for (VertexId i = 0; i < 16; ++i) graph.connect(i, 16 + i / 4, kind);
  for (VertexId l = 0; l < 4; ++l) {
    for (VertexId s = 0; s < 2; ++s) graph.connect(16 + l, 20 + s, kind);
  }
  graph.finish();
  return graph;
}

std::vector<VertexId> devices() {
  std::vector<VertexId> all(16);
  for (VertexId i = 0; i < 16; ++i) all[i] = i;
  return all;
}

TEST(ReductionTree, HasOneEdgeForEveryVertexBelowTheRoot) {
  const NetworkGraph graph = two_tiers();
  Router router(graph);
  const ReductionTree tree = reduction_tree(router, devices(), 21);
  ASSERT_EQ(tree.edges.size(), 16 + 4U);
  for (std::size_t i = 16; i < 20; ++i) EXPECT_EQ(tree.edges[i].second, 21U);
}

TEST(ReductionTree, ASumIsBackAfterFourLinksAndOnePacketTimeForEachFurtherPacket) {
  const NetworkGraph graph = two_tiers();
  const PacketSpec spec = plain();
  Router router(graph);
  PacketBench bench(graph, spec);
  const TransferId transfer = bench.network.open();
  add_reduction(bench.network, transfer, reduction_tree(router, devices(), 20), Bytes(4096 * 500));
  bench.network.start(transfer);
  bench.run();
  const Time packet = (spec.infiniband.mtu + spec.infiniband.header) / 50_GBps;
  EXPECT_EQ(bench.ends.at(transfer), packet * (500 + 3) + 300_ns * 4);
  // Every link of the tree, 20 of them, once each way.
  EXPECT_EQ(bench.network.statistics().delivered, Bytes(4096 * 500 * 2 * 20));
}

TEST(ReductionTree, OneLateMemberHoldsBackAll) {
  const NetworkGraph graph = two_tiers();
  Router router(graph);
  PacketBench bench(graph, plain());
  const TransferId transfer = bench.network.open();
  add_reduction(bench.network, transfer, reduction_tree(router, devices(), 20), 4_MB);
  // Device 0's way up is shared with a flow of its own.
  bench.at(0_ns, bench.flow(0, 1, 400_MB));
  bench.network.start(transfer);
  bench.run();
  EXPECT_NEAR(bench.ends.at(transfer).seconds(), 2 * 4e6 / 50e9, 0.1 * 2 * 4e6 / 50e9);
}

// A CollNet plan by packets: every rail's eighth goes up a tree of switches and down again.
TEST(ReductionTree, IsWhatACollnetPlanPlays) {
  const auto estimate = [](std::vector<std::string> overrides) {
    overrides.emplace_back("library.collnet.enabled=true");
    const Network network = test::cluster("dgx_h100", 64, overrides);
    const Call call{CollectiveKind::all_reduce, 256_MiB, DataType::bf16, 0};
    return estimate_chosen(network, call, first_ranks(64), {"collnet_direct", ""});
  };
  const auto fluid = estimate({});
  const auto packets = estimate({"network.fabric.kind=packet"});
  EXPECT_NEAR(packets.duration / fluid.duration, 1, 0.05);
  // Of 8 nodes under one leaf a rail: device, card, leaf, each way.
  const Bytes by_trees = 256_MiB * 8 * 2 * 2;
  const Bytes by_ports = (256_MiB * 14 / 8) * 64 * 2;
  EXPECT_NEAR(packets.packets->delivered / (by_trees + by_ports), 1, 1e-3);
}

}  // namespace
}  // namespace warploom
