// SPDX-License-Identifier: Apache-2.0
// Calls and transfers at once: each slowed where it shares a link, by closed forms.
#include <gtest/gtest.h>

#include "network/collective_estimate.hpp"
#include "network/fabrics/graph_fold.hpp"
#include "network/play_plans.hpp"
#include "sim/core/errors.hpp"
#include "tests/unit/network/cluster_fixture.hpp"
#include "tests/unit/network/network_fixture.hpp"

namespace warploom {
namespace {

using test::bundle;
using test::cluster;
using test::FabricBench;
using test::group;

constexpr Bandwidth port = 450_GBps;
constexpr Bandwidth card = 50_GBps;

// Rings over two pods, one on each device of them: 96 cards a pod share uplinks 7 times thinner.
TEST(Contention, TwoRingsHalveTheUplinksThatTheyShare) {
  const std::vector<Group> groups = {group({{2, 96}}, {{96, 1}}), group({{4, 96}}, {{96, 1}})};
  FabricBench bench(test::topology(test::clos_text, 768), groups,
                    {{0_s, bundle(FlowPattern::ring, 0, 1_GB)}, {0_s, bundle(FlowPattern::ring, 1, 3_GB)}});
  const auto& ends = bench.run();
  EXPECT_EQ(ends[0].time, 1_GB / (card / 14));
  EXPECT_EQ(ends[1].time, 1_GB / (card / 14) + 2_GB / (card / 7));
}

// Of a device's port a ring takes one flow, an all-to-all of 8 seven: all go at an eighth of it.
TEST(Contention, ARingAgainstAnAllToAllGoesAtTheirCommonRate) {
  const std::vector<Group> groups = {group({{8, 1}}, {})};
  FabricBench bench(test::topology(test::one_node_text, 8), groups,
                    {{0_s, bundle(FlowPattern::all_pairs, 0, 1_GB)}, {0_s, bundle(FlowPattern::ring, 0, 10_GB)}});
  const auto& ends = bench.run();
  EXPECT_EQ(ends[0].time, 1_GB / (port / 8));
  EXPECT_EQ(ends[1].time, 1_GB / (port / 8) + 9_GB / port);
}

// n senders into one card, and one that goes elsewhere from a sender's card: it gets what its share of the card leaves.
TEST(Contention, AnIncastLeavesTheRestOfASendersCardToItsOtherFlow) {
  constexpr std::int64_t n = 5;
  std::vector<Group> groups;
  std::vector<FabricBench::Start> starts;
  for (std::int64_t i = 1; i <= n; ++i) {
    groups.push_back(group({{2, -8 * i}}, {}, 8 * i));
    starts.push_back({0_s, bundle(FlowPattern::pair, static_cast<GroupId>(i - 1), 1_GB)});
  }
  groups.push_back(group({{2, 8 * n}}, {}, 8));
  starts.push_back({0_s, bundle(FlowPattern::pair, n, 4_GB)});
  FabricBench bench(test::topology(test::clos_text, 768), groups, starts);
  const auto& ends = bench.run();
  for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(ends[i].time, 1_GB / (card / n));
  EXPECT_EQ(ends[n].time, 4_GB / (card * (1 - 1.0 / n)));
}

// Others take 60% of the sender's link all the time.
TEST(Contention, ATransferGetsWhatTheBackgroundLeaves) {
  auto graph = std::make_shared<NetworkGraph>();
  graph->add({"device", VertexKind::device, 0, 3, false});
  const VertexId hub = graph->add({"hub", VertexKind::network_switch, 0, 1});
  LinkKind wire;
  wire.name = "wire";
  wire.rate = card;
  const auto kind = graph->add(wire);
  for (VertexId d = 0; d < 3; ++d) graph->connect(d, hub, kind);
  graph->finish();
  GraphFoldOptions options;
  options.background.assign(graph->edge_count(), 0);
  options.background[0] = 0.6;
  const FabricFactory fabric = [&](Engine& engine, BundleListener& listener) {
    return std::make_unique<FluidFabric>(graph_folder(graph, {}, options), engine, listener);
  };
  const auto transfer = [](Rank from, Rank to) {
    PlannedCall call;
    call.group = group({{2, to - from}}, {}, from);
    call.plan.steps = {{1_us, {bundle(FlowPattern::pair, 0, 1_GB)}}};
    return call;
  };
  // 20 of the 50 GB/s of device 0's link; device 1 shares the link into device 2 with it, and has 30 of that.
  const std::vector<PlannedCall> calls = {transfer(0, 2), transfer(1, 2)};
  const PlayedCalls played = play_plans(fabric, calls);
  EXPECT_EQ(played.durations[0], 1_us + 1_GB / (card * 0.4));
  EXPECT_EQ(played.durations[1], 1_us + 1_GB / (card * 0.6));
  EXPECT_EQ(played.end, played.durations[0]);
  // Of what is left of device 0's link all was used but for the latency.
  EXPECT_EQ(played.bottleneck.name, "wire");
  EXPECT_NEAR(played.bottleneck.load, (1_GB / (card * 0.4)) / played.end, 1e-9);
}

TEST(Contention, StepsOfOneCallFollowEachOtherWhileAnotherMoves) {
  const auto node = test::topology(test::one_node_text, 8);
  const FabricFactory fabric = [&](Engine& engine, BundleListener& listener) {
    return std::make_unique<FluidFabric>(node, engine, listener);
  };
  PlannedCall steps;
  steps.group = group({{2, 1}}, {});
  steps.plan.steps = {
      {5_us, {bundle(FlowPattern::pair, 0, 900_MB)}}, {7_us, {}}, {0_s, {bundle(FlowPattern::pair, 0, 450_MB)}}};
  PlannedCall other = steps;
  other.start = 1_ms + 5_us;
  other.plan.steps = {{0_s, {bundle(FlowPattern::pair, 0, 225_MB)}}};
  const std::vector<PlannedCall> calls = {steps, other};
  const PlayedCalls played = play_plans(fabric, calls);
  EXPECT_EQ(played.durations[1], 225_MB / (port / 2));
  EXPECT_EQ(played.durations[0], 12_us + 1350_MB / port + 225_MB / port);
}

TEST(Contention, CallsOfDifferentNodesDoNotFeelEachOther) {
  const Network network = cluster("dgx_h100", 16);
  const Call call{CollectiveKind::all_reduce, 256_MiB, DataType::bf16, 0};
  const std::vector<ConcurrentCall> calls = {{call, group({{8, 1}}, {}, 0), {}}, {call, group({{8, 1}}, {}, 8), {}}};
  const auto estimate = estimate_concurrent(network, calls);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(estimate.together[i], estimate.alone[i].duration);
  EXPECT_EQ(estimate.end, estimate.together[0]);
}

// Two rings over the same cards: the card is never idle, so that both take as long as it needs for the bytes of both.
TEST(Contention, CallsOverTheSameCardsTakeTheSumOfTheirTimes) {
  const Network network = cluster("dgx_h100", 64);
  const Call call{CollectiveKind::all_gather, 4_GiB, DataType::bf16, 0};
  const Group rail = group({{8, 8}}, {});
  const std::vector<ConcurrentCall> calls = {{call, rail, {"ring", "simple"}}, {call, rail, {"ring", "simple"}}};
  const auto estimate = estimate_concurrent(network, calls);
  EXPECT_EQ(estimate.alone[0].bottleneck.name, "nic");
  EXPECT_GT(estimate.bottleneck.load, 0.98);
  EXPECT_LE(estimate.bottleneck.load, 1 + 1e-9);
  const double carried = estimate.alone[0].bottleneck.load * estimate.alone[0].duration.seconds();
  EXPECT_NEAR(estimate.bottleneck.load * estimate.end.seconds(), 2 * carried, 1e-6 * carried);
  EXPECT_GT(estimate.together[0], estimate.alone[0].duration * 1.8);
  EXPECT_LE(estimate.together[0], estimate.alone[0].duration * 2);
  EXPECT_EQ(estimate.together[0], estimate.together[1]);
}

TEST(Contention, TheBottleneckOfANodesRingIsNvlink) {
  const Network network = cluster("dgx_h100", 8);
  const Call call{CollectiveKind::all_gather, 1_GiB, DataType::bf16, 0};
  const auto estimate = estimate_chosen(network, call, first_ranks(8), {"ring", "simple"});
  EXPECT_EQ(estimate.bottleneck.name, "nvlink");
  // Every port sends (n - 1) / n of the bytes.
  const double bytes = 7.0 / 8 * static_cast<double>((1_GiB).count());
  const double wire = estimate.bottleneck.load * network.topology->port().value() * estimate.duration.seconds();
  EXPECT_GE(wire, bytes * (1 - 1e-9));
  EXPECT_LT(wire, bytes * 1.3);  // protocol's overhead
}

}  // namespace
}  // namespace warploom
