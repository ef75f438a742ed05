// SPDX-License-Identifier: Apache-2.0
// The network's routing rules packets as it rules flows, and the packet fabric's own keys only where they are given.
#include <gtest/gtest.h>

#include "network/graph/all_path.hpp"
#include "network/packet/packet_fabric.hpp"
#include "sim/core/errors.hpp"
#include "tests/unit/network/cluster_fixture.hpp"
#include "tests/unit/network/network_fixture.hpp"
#include "tests/unit/network/packet_fixture.hpp"

namespace warploom {
namespace {

using namespace literals;
using test::group;
using test::PacketBench;
using test::plain;
using test::star;
using test::wire;

struct Nobody : BundleListener {
  void on_bundle_done(std::uint64_t /*token*/, bool /*alike*/) override {}
};

Bundle bundle(FlowPattern pattern, Bytes bytes) {
  Bundle made;
  made.traffic.pattern = pattern;
  made.coupled = is_coupled(pattern);
  made.bytes_per_flow = bytes;
  return made;
}

struct Played {
  Time end;
  PacketStatistics statistics;
  std::string words;
};
Played play(const std::string& text, std::int64_t devices, const Group& group, const Bundle& bundle,
            const PacketSpec& spec = {}) {
  Engine engine;
  Nobody nobody;
  PacketFabric fabric(spec, test::with_conditions(text, devices), engine, nobody);
  const std::vector<Group> groups{group};
  fabric.prepare(groups, std::span(&bundle.traffic, 1));
  fabric.start(bundle, 0);
  engine.run();
  return {engine.now(), fabric.statistics(1000), fabric.in_words()};
}

// Each rail's four nodes under one leaf send to the other pod's.
const std::string two_tiers =
    "kind: rail_fat_tree\n"
    "node: {gpus: 8, nvlink: {links: 18, rate: 25 GB/s, efficiency: 0.8}}\n"
    "nic: {count: 8, rate: 400 Gb/s, efficiency: 0.96}\n"
    "tiers: [{name: leaf, of: 4, oversubscription: 1}, {name: spine, of: 2}]\n";
const Group across = group({{2, 32}}, {{32, 1}});

TEST(PacketRouting, IsTheNetworks) {
  const auto of = [](const std::string& policy, const PacketSpec& spec = {}) {
    return play(two_tiers + (policy.empty() ? "" : "routing: {policy: " + policy + "}\n"), 64, across,
                bundle(FlowPattern::pair, 4_MB), spec);
  };
  const Time alone = 4_MB / Bandwidth{50e9 * 0.96};
  for (const char* spread : {"", "spray", "adaptive"}) {
    EXPECT_NEAR(of(spread).end / alone, 1.0, 0.1) << spread;
    EXPECT_EQ(of(spread).statistics.collisions, 0U) << spread;
  }
  EXPECT_GT(of("ecmp").end / alone, 1.5);
  EXPECT_GT(of("ecmp").statistics.collisions, 0U);
  EXPECT_EQ(of("static").statistics.delivered, 4_MB * 32);
  EXPECT_NE(of("").words.find("(spray)"), std::string::npos);
  EXPECT_NE(of("ecmp").words.find("(ecmp)"), std::string::npos);
  EXPECT_NE(of("static").words.find("(static tables)"), std::string::npos);
  // The packet fabric's own key.
  PacketSpec own;
  own.routing = PacketPaths::spray;
  for (const char* other : {"ecmp", "static", "adaptive"}) {
    EXPECT_NEAR(of(other, own).end / alone, 1.0, 0.1) << other;
    EXPECT_NE(of(other, own).words.find("(spray)"), std::string::npos) << other;
  }
  own.routing = PacketPaths::ecmp;
  EXPECT_GT(of("", own).end / alone, 1.5);
}

TEST(PacketRouting, MoreQueuePairsOfTheNetworkCollideLess) {
  const auto of = [](int pairs) {
    return play(two_tiers + "routing: {policy: ecmp, queue_pairs: " + std::to_string(pairs) + "}\n", 64, across,
                bundle(FlowPattern::pair, 4_MB));
  };
  EXPECT_LT(of(8).end, of(1).end);
  EXPECT_NE(of(8).words.find("8 queue pairs"), std::string::npos);
}

// Of 32 ways 16 are taken, each uplink of a leaf of 4 nodes by four of them: all carry alike.
TEST(PacketRouting, SprayLoadsTheUplinksAlike) {
  const auto played = play(two_tiers, 64, group({{2, 32}}, {{1, 1}}), bundle(FlowPattern::pair, 8_MB));
  Bytes least{INT64_MAX};
  Bytes most{0};
  int uplinks = 0;
  for (const QueueStatistics& queue : played.statistics.queues) {
    if (!queue.name.starts_with("leaf 0 -> spine")) continue;
    ++uplinks;
    least = std::min(least, queue.bytes);
    most = std::max(most, queue.bytes);
  }
  EXPECT_EQ(uplinks, 4);
  EXPECT_LE(most - least, Bytes(8192));
}

// Over all ways of a full mesh of 8 a flow has the direct link and six through another end.
TEST(PacketRouting, AllPathsUseTheLongerOnesToo) {
  NetworkGraph graph;
  graph.add({"device", VertexKind::device, 0, 8, true});
  const auto cable = graph.add(wire(LinkProtocol::unified_bus, 50_GBps, 100_ns));
  for (VertexId a = 0; a < 8; ++a) {
    for (VertexId b = a + 1; b < 8; ++b) graph.connect(a, b, cable);
  }
  graph.finish();
  struct Ends : PacketListener {
    void on_transfer_done(TransferId) override {}
  };
  const auto time = [&](RoutingPolicy policy) {
    Engine engine;
    Ends ends;
    RoutingSpec routing;
    routing.policy = policy;
    std::unique_ptr<Router> router;
    if (policy == RoutingPolicy::all_paths) router = std::make_unique<AllPathRouter>(graph, 1);
    PacketNetwork network(graph, plain(), engine, ends, std::move(router), routing);
    const TransferId transfer = network.open();
    PacketFlow flow;
    flow.to = 1;
    flow.bytes = 70_MB;
    network.add(transfer, flow);
    network.start(transfer);
    engine.run();
    EXPECT_EQ(network.statistics().delivered, 70_MB);
    return engine.now();
  };
  EXPECT_NEAR(time(RoutingPolicy::spray) / time(RoutingPolicy::all_paths), 7, 0.2);
}

// Two planes: a device that is on both has both for a flow that is spread.
TEST(PacketRouting, AFlowIsSpreadOverAllLinksOutOfItsDevice) {
  NetworkGraph graph;
  graph.add({"device", VertexKind::device, 0, 2, false});
  const VertexId plane = graph.add({"plane", VertexKind::network_switch, 0, 2});
  const auto cable = graph.add(wire(LinkProtocol::ethernet, 50_GBps, 100_ns));
  for (VertexId device = 0; device < 2; ++device) {
    for (VertexId p = 0; p < 2; ++p) graph.connect(device, plane + p, cable);
  }
  graph.finish();
  PacketSpec spec = plain();
  PacketBench spread(graph, spec);
  spread.at(0_ns, spread.flow(0, 1, 40_MB));
  spread.run();
  spec.routing = PacketPaths::ecmp;
  PacketBench hashed(graph, spec);
  hashed.at(0_ns, hashed.flow(0, 1, 40_MB));
  hashed.run();
  EXPECT_NEAR(hashed.ends[0] / spread.ends[0], 2, 0.02);
}

TEST(PacketRouting, HpccOverManyPathsKeepsTheirLinksAtItsTarget) {
  std::string ethernet = two_tiers;
  ethernet.insert(ethernet.find(", efficiency: 0.96"), ", cable: {protocol: ethernet}");
  PacketSpec spec;
  spec.ethernet.congestion_control = CongestionControl::hpcc;
  spec.routing = PacketPaths::ecmp;
  for (const auto paths : {PacketPaths::spray, PacketPaths::adaptive}) {
    spec.routing = paths;
    const auto played = play(ethernet, 64, across, bundle(FlowPattern::pair, 16_MB), spec);
    const Time alone = 16_MB / Bandwidth{50e9 * 0.96};
    // The largest of several links' averages is above each one's, so that a tenth of the rate stays unused.
    EXPECT_NEAR(played.end / alone, 1 / 0.95, 0.15) << static_cast<int>(paths);
    EXPECT_LT(played.statistics.most_queued, 1_MB) << static_cast<int>(paths);
  }
}

TEST(PacketRouting, ReportsSayWhichRoutingWasUsed) {
  const auto assumption = [](const std::vector<std::string>& overrides) {
    return test::cluster("dgx_h100", 16, overrides).assumptions.at(0);
  };
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  EXPECT_TRUE(has(assumption({}), "even split over equal-cost paths"));
  EXPECT_TRUE(has(assumption({"network.routing.policy=ecmp"}), "by its hash (ecmp); no loss"));
  EXPECT_TRUE(has(assumption({"network.fabric.kind=packet"}), "packets in queues; packets take turns"));
  EXPECT_TRUE(has(assumption({"network.fabric.kind=packet", "network.routing.policy=ecmp"}), "(ecmp)"));
  EXPECT_TRUE(has(assumption({"network.fabric.kind=packet", "network.fabric.routing=adaptive"}), "(adaptive)"));
}

}  // namespace
}  // namespace warploom
