// SPDX-License-Identifier: Apache-2.0
// All-to-all traffic: what it puts on every link, and in how few words.
#include <gtest/gtest.h>

#include <map>

#include "network/fabrics/flows.hpp"
#include "tests/unit/network/network_fixture.hpp"

namespace warploom {
namespace {

using test::group;
using test::topology;

using Load = std::map<LinkId, std::int64_t>;  // in parts of a flow

Load load_of_flows(const TieredTopology& topology, const Group& group) {
  Load load;
  const TrafficShape shape(FlowPattern::all_pairs, group, topology);
  for (const auto& flow : shape.flows(Box(group.instances[0].base)).routed) {
    for (std::int64_t i = 0; i < flow.from.size(); ++i) {
      for (const LinkId& link : topology.route(flow.from.at(i), flow.from.at(i) + flow.delta)) load[link] += flow.units;
    }
  }
  return load;
}

Load load_of_pairs(const TieredTopology& topology, const Group& group) {
  Load load;
  const std::int64_t n = group.member_count();
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      if (i == j) continue;
      const Rank start = group.instances[0].base;
      for (const LinkId& link : topology.route(group.rank(start, i), group.rank(start, j)))
        load[link] += units_per_flow;
    }
  }
  return load;
}

TEST(AllPairs, EveryLinkCarriesWhatThePairsOneByOneWouldSend) {
  // 4 nodes a leaf and 4 leaves a spine on rails; racks of 2 nodes, pods of 12; a card for two devices.
  for (const auto& [text, devices] :
       {std::pair{test::rail_text, 512}, {test::clos_text, 768}, {test::few_cards_text, 480}}) {
    const auto tree = topology(text, devices);
    // In a node, of whole nodes, one a node, every second device, not at a unit's start, not of whole units.
    for (const Group& members :
         {group({{8, 1}}, {}), group({{4, 1}}, {}, 4), group({{64, 1}}, {}), group({{16, 8}}, {}),
          group({{12, 2}}, {}, 8), group({{4, 1}, {6, 32}}, {}), group({{56, 1}}, {}), group({{9, 8}, {3, 2}}, {}, 2),
          group({{20, 1}}, {}, 5), group({{24, 8}}, {}, 16)}) {
      EXPECT_EQ(load_of_flows(*tree, members), load_of_pairs(*tree, members)) << text << members.member_count();
    }
  }
}

TEST(AllPairs, AllDevicesOfALargeClusterAreFewBoxes) {
  const auto tree = topology("kind: rail_fat_tree\n" + test::node_text +
                                 "tiers: [{name: leaf, of: 32}, {name: spine, of: 4}, {name: core, of: 64}]\n",
                             65'536);
  const TrafficShape shape(FlowPattern::all_pairs, group({{65'536, 1}}, {}), *tree);
  std::int64_t units = 0;
  const Flows flows = shape.flows(Box(0));
  for (const auto& flow : flows.routed) units += flow.units / units_per_flow * flow.from.size();
  EXPECT_EQ(units, std::int64_t{65'536} * 65'535);
  EXPECT_LE(flows.routed.size(), 80U);  // 3^4 - 1: in each of four digits the same, the next or back to the first
}

}  // namespace
}  // namespace warploom
