// SPDX-License-Identifier: Apache-2.0
// The fluid fabric's claims, by hand-computed cases.
#include "network/fabrics/fluid.hpp"

#include <gtest/gtest.h>

#include "sim/core/errors.hpp"
#include "tests/unit/network/network_fixture.hpp"

namespace warploom {
namespace {

using test::bundle;
using test::FabricBench;
using test::group;

constexpr Bandwidth port = 450_GBps;
constexpr Bandwidth card = 50_GBps;

TEST(Fluid, OneFlowTakesBytesOverBandwidth) {
  const auto clos = test::topology(test::clos_text, 768);
  for (const auto& [to, bandwidth] : {std::pair{Rank{3}, port}, {Rank{8}, card}, {Rank{16}, card}}) {
    for (const auto size : {1_B, 7_B, 12'345'679_B, 64_MiB, 100_GB}) {
      FabricBench bench(clos, {group({{2, to}}, {})}, {{1_us, bundle(FlowPattern::pair, 0, size)}});
      EXPECT_EQ(bench.run()[0].time, 1_us + size / bandwidth) << to << " " << size.count();
    }
  }
}

TEST(Fluid, TwoFlowsIntoOneDeviceHalveItsLink) {
  FabricBench bench(test::topology(test::one_node_text, 8), {group({{2, 1}}, {}, 0), group({{2, -1}}, {}, 2)},
                    {{0_s, bundle(FlowPattern::pair, 0, 9_GB)}, {0_s, bundle(FlowPattern::pair, 1, 18_GB)}});
  const auto& ends = bench.run();
  EXPECT_EQ(ends[0].time, 18_GB / port);
  EXPECT_EQ(ends[1].time, 27_GB / port);
}

TEST(Fluid, ALateArrivalSlowsFromItsOwnStart) {
  FabricBench bench(test::topology(test::one_node_text, 8), {group({{2, 1}}, {}, 0), group({{2, -1}}, {}, 2)},
                    {{0_s, bundle(FlowPattern::pair, 0, 900_MB)}, {1_ms, bundle(FlowPattern::pair, 1, 225_MB)}});
  const auto& ends = bench.run();
  EXPECT_EQ(ends[1].time, 1_ms + 225_MB / (port / 2));
  EXPECT_EQ(ends[0].time, 900_MB / port + 225_MB / port);
}

TEST(Fluid, ALimitHoldsForAFlowAndWhatItLeavesGoesToTheOther) {
  FabricBench bench(
      test::topology(test::one_node_text, 8), {group({{2, 1}}, {}, 0), group({{2, -1}}, {}, 2)},
      {{0_s, bundle(FlowPattern::pair, 0, 1_GB, 100_GBps)}, {0_s, bundle(FlowPattern::pair, 1, 3500_MB)}});
  const auto& ends = bench.run();
  EXPECT_EQ(ends[0].time, 10_ms);
  EXPECT_EQ(ends[1].time, 10_ms);
}

TEST(Fluid, ALimitSetLaterHoldsFromThenOnAndCanBeLifted) {
  FabricBench bench(test::topology(test::one_node_text, 8), {group({{2, 1}}, {}, 0)},
                    {{0_s, bundle(FlowPattern::pair, 0, 900_MB)}});
  struct Limiter : EventSink {
    FabricBench& bench;
    explicit Limiter(FabricBench& b) : bench(b) {}
    void on_event(std::uint64_t rate) override {
      bench.fabric().limit(bench.id(0), Bandwidth(static_cast<double>(rate)));
    }
  } limiter(bench);
  bench.engine().at(1_ms, limiter, 45'000'000'000);  // after 450 MB, a tenth of the speed
  bench.engine().at(2_ms, limiter, 0);               // 45 MB later
  EXPECT_EQ(bench.run()[0].time, 2_ms + 405_MB / port);
}

TEST(Fluid, NothingToSendEndsAtOnceButNotInsideStart) {
  FabricBench bench(test::topology(test::one_node_text, 8), {group({{2, 1}}, {}, 0), group({}, {{8, 1}})},
                    {{5_us, bundle(FlowPattern::pair, 0, 0_B)}, {7_us, bundle(FlowPattern::ring, 1, 1_GB)}});
  const auto& ends = bench.run();
  EXPECT_EQ(ends[0].time, 5_us);
  EXPECT_EQ(ends[1].time, 7_us);  // a ring of one has no flows
  EXPECT_FALSE(bench.called_from_start());
}

TEST(Fluid, EveryBundleEndsOnce) {
  std::vector<FabricBench::Start> starts;
  for (int i = 0; i < 50; ++i)
    starts.push_back({Time::picoseconds(i * 1000), bundle(FlowPattern::ring, 0, Bytes(i * 100))});
  FabricBench bench(test::topology(test::one_node_text, 8), {group({{8, 1}}, {})}, starts);
  for (const auto& end : bench.run()) EXPECT_EQ(end.calls, 1);
}

TEST(Fluid, AnArrivalInADisjointPartTouchesNoOtherVariable) {
  // Rings of two nodes each: nothing in common.
  const auto clos = test::topology(test::clos_text, 768);
  const std::vector<Group> groups = {group({{8, 1}}, {}, 0), group({{8, 1}}, {}, 8)};
  FabricBench bench(clos, groups,
                    {{0_s, bundle(FlowPattern::ring, 0, 1_GB)}, {100_us, bundle(FlowPattern::ring, 1, 1_GB)}});
  while (bench.engine().now() < 100_us) bench.engine().step();
  const auto before = bench.fabric().counters();
  EXPECT_EQ(before.variables_touched, 1U);
  while (bench.fabric().counters().solves == before.solves) bench.engine().step();
  EXPECT_EQ(bench.fabric().counters().variables_touched - before.variables_touched, 1U);
  const auto& ends = bench.run();
  EXPECT_EQ(ends[0].time, 1_GB / port);
  EXPECT_EQ(ends[1].time, 100_us + 1_GB / port);
}

TEST(Fluid, ArrivalsOfOneInstantAreSolvedOnce) {
  std::vector<FabricBench::Start> starts(20, {3_us, bundle(FlowPattern::ring, 0, 1_GB)});
  FabricBench bench(test::topology(test::one_node_text, 8), {group({{8, 1}}, {})}, starts);
  const auto& ends = bench.run();
  EXPECT_EQ(bench.fabric().counters().solves, 1U);
  for (const auto& end : ends) EXPECT_EQ(end.time, 3_us + 20_GB / port);
}

TEST(Fluid, ARingOverNodesWithSeveralMembersLeavesByEveryCard) {
  // 4 nodes x 8 members: of each hop's bytes a card carries 1/8, a node port 7/8.
  const auto rails = test::topology(
      "kind: rail_fat_tree\n" + test::node_text + "tiers: [{name: leaf, of: 4}, {name: spine, of: 4}]\n", 128);
  FabricBench bench(rails, {group({{32, 1}}, {})}, {{0_s, bundle(FlowPattern::ring, 0, 8_GB)}});
  EXPECT_EQ(bench.run()[0].time, 8_GB / (card * 8));
}

TEST(Fluid, ANodePortBoundsARingThatCardsWouldLetGoFaster) {
  const std::string slow_node =
      "kind: fat_tree\nnode: {gpus: 8, nvlink: {links: 1, rate: 70 GB/s}}\nnic: {count: 8, rate: 50 GB/s}\ntiers: "
      "[{name: rack, of: 4}]\n";
  FabricBench bench(test::topology(slow_node, 32), {group({{32, 1}}, {})}, {{0_s, bundle(FlowPattern::ring, 0, 8_GB)}});
  EXPECT_EQ(bench.run()[0].time, 8_GB / 80_GBps);  // 7/8 of it through 70 GB/s
}

TEST(Fluid, ARingOverNodesWithUnequalSharesIsBoundByTheFewestCards) {
  // 12 members: 8 in the first node, 4 in the second.
  FabricBench bench(test::topology(test::clos_text, 768), {group({{12, 1}}, {})},
                    {{0_s, bundle(FlowPattern::ring, 0, 4_GB)}});
  EXPECT_EQ(bench.run()[0].time, 4_GB / (card * 4));
}

TEST(Fluid, AnAllToAllSharesEveryCardAmongItsFlows) {
  // 4 nodes, one member each: every card sends 3 flows.
  FabricBench bench(test::topology("kind: fat_tree\n" + test::node_text + "tiers: [{name: rack, of: 4}]\n", 32),
                    {group({{4, 8}}, {})}, {{0_s, bundle(FlowPattern::all_pairs, 0, 1_GB)}});
  const auto& ends = bench.run();
  EXPECT_EQ(ends[0].time, 3_GB / card);
  EXPECT_TRUE(ends[0].alike);
  EXPECT_EQ(bench.fabric().counters().variables, 1U);
}

TEST(Fluid, OversubscriptionBoundsWhatCrossesIt) {
  // All 96 devices of pod 0 send to pod 1 at once: 96 cards over 7.
  FabricBench bench(test::topology(test::clos_text, 768), {group({{2, 96}}, {{96, 1}})},
                    {{0_s, bundle(FlowPattern::pair, 0, 1_GB)}});
  EXPECT_EQ(bench.run()[0].time, 1_GB / (card / 7));
}

TEST(Fluid, FlowsOfUnequalShareEndApartAndSaySo) {
  // Each of a pod's 12 nodes sends to the next; what the last sends crosses into pod 1.
  const Group both = group({{2, 8}}, {{12, 8}, {8, 1}});
  const std::string thin =
      "kind: fat_tree\n" + test::node_text +
      "tiers: [{name: rack, of: 2}, {name: pod, of: 6, oversubscription: 96}, {name: core, of: 8}]\n";
  FabricBench bench(test::topology(thin, 768), {both}, {{0_s, bundle(FlowPattern::pair, 0, 1_GB)}});
  const auto& ends = bench.run();
  EXPECT_FALSE(ends[0].alike);
  EXPECT_EQ(ends[0].time, 1_GB / (card * 96 / 96 / 8));  // 8 flows over one card's worth of uplink
}

TEST(Fluid, RanksThatAreNotThereAreTheUsersMistake) {
  const auto clos = test::topology(test::clos_text, 64);
  EXPECT_NO_THROW(FabricBench(clos, {group({{8, 8}}, {{8, 1}})}, {{0_s, bundle(FlowPattern::ring, 0, 1_GB)}}));
  EXPECT_THROW(FabricBench(clos, {group({{8, 8}}, {{9, 1}})}, {{0_s, bundle(FlowPattern::ring, 0, 1_GB)}}), UserError);
  EXPECT_THROW(FabricBench(clos, {group({{2, -1}}, {})}, {{0_s, bundle(FlowPattern::pair, 0, 1_GB)}}), UserError);
}

}  // namespace
}  // namespace warploom
