// SPDX-License-Identifier: Apache-2.0
// Flows written out: who sends to whom, and how much of the bytes.
#include "network/fabrics/explicit_flows.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "sim/core/errors.hpp"
#include "tests/unit/network/network_fixture.hpp"

namespace warploom {
namespace {

using test::group;

TEST(ExplicitFlows, ARingOfOneMemberANodeGoesFromEachToTheNext) {
  const auto flows = explicit_flows(FlowPattern::ring, group({{4, 8}}, {{2, 1}}), 8);
  ASSERT_EQ(flows.size(), 8U);
  std::set<std::pair<Rank, Rank>> hops;
  for (const auto& flow : flows) {
    EXPECT_EQ(flow.units, units_per_flow);
    EXPECT_EQ(flow.instance, flow.from % 8);
    hops.emplace(flow.from, flow.to);
  }
  for (Rank lane : {0, 1}) {
    for (Rank node = 0; node < 4; ++node) EXPECT_TRUE(hops.contains({node * 8 + lane, (node + 1) % 4 * 8 + lane}));
  }
}

// Every member sends and receives a whole flow: 1/8 by its card, 7/8 to the next in its node.
TEST(ExplicitFlows, ARingOverNodesWithSeveralMembersIsRotatedChannels) {
  const auto flows = explicit_flows(FlowPattern::ring, group({{32, 1}}, {}), 8);
  std::map<Rank, std::int64_t> sent;
  std::map<Rank, std::int64_t> received;
  for (const auto& flow : flows) {
    const bool stays = flow.from / 8 == flow.to / 8;
    EXPECT_EQ(flow.units, stays ? units_per_flow / 8 * 7 : units_per_flow / 8);
    EXPECT_EQ(flow.to % 8, stays ? (flow.from + 1) % 8 : flow.from % 8);
    sent[flow.from] += flow.units;
    received[flow.to] += flow.units;
  }
  for (Rank rank = 0; rank < 32; ++rank) {
    EXPECT_EQ(sent[rank], units_per_flow);
    EXPECT_EQ(received[rank], units_per_flow);
  }
}

// Unequal shares of nodes (8 and 4): what leaves a node in all is one flow, and what is passed inside fits its size.
TEST(ExplicitFlows, UnequalSharesOfNodesStillPassOneFlowFromNodeToNode) {
  const auto flows = explicit_flows(FlowPattern::ring, group({{12, 1}}, {}), 8);
  std::map<std::pair<Rank, Rank>, std::int64_t> between;
  std::map<Rank, std::int64_t> inside;
  for (const auto& flow : flows) {
    if (flow.from / 8 == flow.to / 8) {
      inside[flow.from] += flow.units;
    } else {
      between[{flow.from / 8, flow.to / 8}] += flow.units;
    }
  }
  EXPECT_EQ((between[{0, 1}]), units_per_flow);
  EXPECT_EQ((between[{1, 0}]), units_per_flow);
  for (Rank rank = 0; rank < 12; ++rank) EXPECT_EQ(inside[rank], units_per_flow - units_per_flow / (rank < 8 ? 8 : 4));
}

TEST(ExplicitFlows, AllPairsAreAllPairs) {
  const auto flows = explicit_flows(FlowPattern::all_pairs, group({{6, 3}}, {{3, 1}}), 8);
  ASSERT_EQ(flows.size(), 3 * 6 * 5U);
  std::set<std::pair<Rank, Rank>> pairs;
  for (const auto& flow : flows) {
    EXPECT_EQ(flow.from % 3, flow.to % 3);
    EXPECT_NE(flow.from, flow.to);
    pairs.emplace(flow.from, flow.to);
  }
  EXPECT_EQ(pairs.size(), flows.size());
}

TEST(ExplicitFlows, PortsGoToTheSwitchOfTheNodeAndBack) {
  const auto flows = explicit_flows(FlowPattern::ports, group({{8, 1}}, {}), 8);
  ASSERT_EQ(flows.size(), 16U);
  for (const auto& flow : flows) {
    EXPECT_EQ(flow.from, flow.to);
    EXPECT_NE(flow.at_switch, SwitchEnd::none);
    EXPECT_EQ(flow.share(), 1.0);
  }
}

// 4 nodes of 8: each tree has 3 edges, up and down, an eighth of each a card.
TEST(ExplicitFlows, TreesGoUpAndDownBetweenNodes) {
  const auto flows = explicit_flows(FlowPattern::tree, group({{32, 1}}, {}), 8);
  ASSERT_EQ(flows.size(), 2 * 3 * 2 * 8U);
  for (const auto& flow : flows) {
    EXPECT_EQ(flow.units, units_per_flow / 8);
    EXPECT_EQ(flow.from % 8, flow.to % 8);
    EXPECT_NE(flow.from / 8, flow.to / 8);
  }
}

TEST(ExplicitFlows, MoreThanTheMostAreRefusedBeforeTheyAreWritten) {
  EXPECT_NO_THROW(explicit_flows(FlowPattern::all_pairs, group({{10, 1}}, {}), 8, 90));
  EXPECT_THROW(explicit_flows(FlowPattern::all_pairs, group({{10, 1}}, {}), 8, 89), UserError);
  EXPECT_THROW(explicit_flows(FlowPattern::all_pairs, group({{131'072, 1}}, {}), 8), UserError);
  EXPECT_THROW(explicit_flows(FlowPattern::ring, group({{1'000'000, 1}}, {{1'000'000, 1'000'000}}), 8), UserError);
}

}  // namespace
}  // namespace warploom
