// SPDX-License-Identifier: Apache-2.0
// The packet fabric against the fluid one where nothing queues, rings in turn, in-switch reduction, conservation.
#include "network/packet/packet_fabric.hpp"

#include <gtest/gtest.h>

#include "network/fabrics.hpp"
#include "tests/unit/network/network_fixture.hpp"

namespace warploom {
namespace {

using namespace literals;
using test::group;

// Plays bundles that all start at zero on any fabric.
class Player : public BundleListener {
 public:
  Time play(Fabric& fabric, Engine& engine, const std::vector<Group>& groups, const std::vector<Bundle>& bundles) {
    engine_ = &engine;
    std::vector<Traffic> traffic;
    for (const Bundle& bundle : bundles) traffic.push_back(bundle.traffic);
    fabric.prepare(groups, traffic);
    for (std::size_t i = 0; i < bundles.size(); ++i) fabric.start(bundles[i], i);
    engine.run();
    EXPECT_EQ(ended, bundles.size());
    return last;
  }
  void on_bundle_done(std::uint64_t /*token*/, bool /*alike*/) override {
    ++ended;
    last = engine_->now();
  }
  std::size_t ended = 0;
  Time last;

 private:
  Engine* engine_ = nullptr;
};

Time fluid(const std::shared_ptr<const Topology>& topology, const std::vector<Group>& groups,
           const std::vector<Bundle>& bundles) {
  Engine engine;
  Player player;
  const auto fabric = fabric_registry().make_named("fluid", topology, engine, player);
  return player.play(*fabric, engine, groups, bundles);
}

struct Played {
  Time end;
  PacketStatistics statistics;
};
Played packet(const std::shared_ptr<const Topology>& topology, const std::vector<Group>& groups,
              const std::vector<Bundle>& bundles, const PacketSpec& spec = {}) {
  Engine engine;
  Player player;
  PacketFabric fabric(spec, topology, engine, player);
  const Time end = player.play(fabric, engine, groups, bundles);
  return {end, fabric.statistics(200)};
}

Bundle bundle(FlowPattern pattern, Bytes bytes, Bytes first = Bytes(0)) {
  Bundle made;
  made.traffic.pattern = pattern;
  made.coupled = pattern != FlowPattern::pair;
  made.bytes_per_flow = bytes;
  made.first = first;
  return made;
}

// Payload of a link as the fluid fabric sees it is all that packets get: efficiency leaves room for headers.
const std::string efficient_node =
    "node: {gpus: 8, nvlink: {links: 18, rate: 25 GB/s, efficiency: 0.8}}\n"
    "nic: {count: 8, rate: 400 Gb/s, efficiency: 0.96}\n";
const std::string one_node =
    "kind: nvlink_switch\nnode: {gpus: 8, nvlink: {links: 18, rate: 25 GB/s, efficiency: 0.8}}\n";
const std::string two_tiers = "kind: rail_fat_tree\n" + efficient_node +
                              "tiers: [{name: leaf, of: 4, oversubscription: 1}, {name: spine, of: 2}]\n";

TEST(PacketFabric, IsListedAndHasNoOtherDefaultsThanItsSpec) {
  Engine engine;
  Player player;
  EXPECT_NE(fabric_registry().find("packet"), nullptr);
  const auto fabric = fabric_registry().make_named("packet", test::topology(one_node, 8), engine, player);
  EXPECT_NE(dynamic_cast<PacketFabric*>(fabric.get()), nullptr);
}

TEST(PacketFabric, RingInANodeTakesWhatTheFluidFabricSays) {
  const auto topology = test::topology(one_node, 8);
  const std::vector<Group> groups{group({{8, 1}}, {})};
  const auto bundles = std::vector{bundle(FlowPattern::ring, 64_MB)};
  const Time expected = fluid(topology, groups, bundles);
  const Played played = packet(topology, groups, bundles);
  EXPECT_NEAR(played.end / expected, 1.0, 0.02);
  EXPECT_EQ(played.statistics.delivered, 64_MB * 8);
}

TEST(PacketFabric, RingOverNodesTakesWhatTheFluidFabricSays) {
  const auto topology = test::topology(two_tiers, 64);
  const std::vector<Group> groups{group({{64, 1}}, {})};
  const auto bundles = std::vector{bundle(FlowPattern::ring, 64_MB)};
  const Time expected = fluid(topology, groups, bundles);
  const Played played = packet(topology, groups, bundles);
  EXPECT_NEAR(played.end / expected, 1.0, 0.02);
  EXPECT_EQ(played.statistics.delivered, 64_MB * 64);
  EXPECT_EQ(played.statistics.drops, 0U);
}

TEST(PacketFabric, ReplicasAcrossNodesTakeWhatTheFluidFabricSaysUnderOneLeaf) {
  const auto topology = test::topology(two_tiers, 32);
  const std::vector<Group> groups{group({{4, 8}}, {{8, 1}})};
  const auto bundles = std::vector{bundle(FlowPattern::ring, 16_MB)};
  const Played played = packet(topology, groups, bundles);
  EXPECT_NEAR(played.end / fluid(topology, groups, bundles), 1.0, 0.02);
}

TEST(PacketFabric, PortsTakeWhatTheFluidFabricSays) {
  const auto topology = test::topology(one_node, 8);
  const std::vector<Group> groups{group({{8, 1}}, {})};
  const auto bundles = std::vector{bundle(FlowPattern::ports, 64_MB)};
  const Played played = packet(topology, groups, bundles);
  EXPECT_NEAR(played.end / fluid(topology, groups, bundles), 1.0, 0.02);
  EXPECT_EQ(played.statistics.delivered, 64_MB * 16);
}

TEST(PacketFabric, ARingInTurnMovesFromRankToRank) {
  // n = 8 parts of p bytes, 2 (n - 1) steps: with no queue it takes as long as all at once.
  const auto topology = test::topology(one_node, 8);
  const std::vector<Group> groups{group({{8, 1}}, {})};
  const Bytes part = 4_MB;
  const Played at_once = packet(topology, groups, {bundle(FlowPattern::ring, part * 14)});
  const Played in_turn = packet(topology, groups, {bundle(FlowPattern::ring, part * 14, part)});
  EXPECT_NEAR(in_turn.end / at_once.end, 1.0, 0.02);
  // A part as small as a packet: every packet goes round before the next, so that the way's latency counts.
  const Played small = packet(topology, groups, {bundle(FlowPattern::ring, 4096_B * 100, 4096_B)});
  EXPECT_GT(small.end, packet(topology, groups, {bundle(FlowPattern::ring, 4096_B * 100)}).end);
}

TEST(PacketFabric, OneSlowFlowHoldsBackARingInTurn) {
  // A pair that shares one link of the ring: who is n - 1 ranks behind it gets n - 1 parts ahead, then goes at half
  // its rate, too.
  const auto topology = test::topology(one_node, 8);
  std::vector<Group> groups{group({{8, 1}}, {}), group({{2, 1}}, {})};
  Bundle other = bundle(FlowPattern::pair, 400_MB);
  other.traffic.group = 1;
  const auto sent_by = [&](Bytes first) {
    Engine engine;
    Player player;
    PacketFabric fabric({}, topology, engine, player);
    std::vector<Bundle> bundles{bundle(FlowPattern::ring, 28_MB, first), other};
    player.play(fabric, engine, groups, bundles);
    Time least = Time::max();
    for (const SlowFlow& flow : fabric.statistics().slowest) {
      if (flow.bytes == 28_MB) least = std::min(least, flow.duration);
    }
    return least;
  };
  // Fastest flow of the ring: free of it all, or held back by the two ranks whose link is shared.
  EXPECT_GT(sent_by(200_kB).seconds(), 1.5 * sent_by(0_B).seconds());
}

TEST(PacketFabric, ADoubleTreeInTurnGoesUpAndDownItsDepth) {
  // 8 nodes of one rank each: as long as all at once but for the way up and down.
  const auto topology = test::topology(two_tiers, 64);
  const std::vector<Group> groups{group({{8, 8}}, {})};
  const Played at_once = packet(topology, groups, {bundle(FlowPattern::tree, 16_MB)});
  const Played in_turn = packet(topology, groups, {bundle(FlowPattern::tree, 16_MB, 1_B)});
  EXPECT_EQ(in_turn.statistics.delivered, at_once.statistics.delivered);
  EXPECT_NEAR(in_turn.end / at_once.end, 1.0, 0.05);
  // A packet alone goes up three edges and down three, one after the other; at once they all go together.
  const Time one = packet(topology, groups, {bundle(FlowPattern::tree, 4096_B)}).end;
  const Time deep = packet(topology, groups, {bundle(FlowPattern::tree, 4096_B, 1_B)}).end;
  EXPECT_GT(deep / one, 2.0);
}

TEST(PacketFabric, AllPairsAndPairsAndTreesDeliverWhatIsAsked) {
  const auto topology = test::topology(two_tiers, 32);
  const std::vector<Group> groups{group({{32, 1}}, {})};
  for (const auto pattern : {FlowPattern::all_pairs, FlowPattern::tree, FlowPattern::rails, FlowPattern::chain}) {
    const Played played = packet(topology, groups, {bundle(pattern, 1_MB)});
    EXPECT_EQ(played.statistics.delivered, played.statistics.asked) << static_cast<int>(pattern);
    EXPECT_GT(played.statistics.delivered, 1_MB);
  }
}

TEST(PacketFabric, HashedFlowsCollideOnUplinksAndSaySo) {
  // Each rail's four nodes under one leaf send to the other pod's: 8 nodes, two leaves a rail.
  const auto topology = test::topology(two_tiers, 64);
  const std::vector<Group> groups{group({{2, 32}}, {{32, 1}})};
  const auto bundles = std::vector{bundle(FlowPattern::pair, 4_MB)};
  PacketSpec spec;
  spec.routing = PacketPaths::ecmp;
  const Played hashed = packet(topology, groups, bundles, spec);
  EXPECT_GT(hashed.statistics.collisions, 0U);
  EXPECT_GT(hashed.end / fluid(topology, groups, bundles), 1.5);
  for (const auto routing : {PacketPaths::spray, PacketPaths::adaptive}) {
    spec.routing = routing;
    const Played spread = packet(topology, groups, bundles, spec);
    EXPECT_NEAR(spread.end / fluid(topology, groups, bundles), 1.0, 0.1) << static_cast<int>(routing);
    EXPECT_EQ(spread.statistics.delivered, spread.statistics.asked);
  }
}

}  // namespace
}  // namespace warploom
