// SPDX-License-Identifier: Apache-2.0
// Static tables: how evenly destinations lie on equal links, and which permutations collide.
#include "network/graph/static_routing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "tests/unit/network/network_fixture.hpp"

namespace warploom {
namespace {

using test::any_topology;

// Of nodes with one device and one card.
std::shared_ptr<const Topology> tree(const std::string& tiers, std::int64_t devices) {
  return any_topology(
      "kind: fat_tree\nnode: {gpus: 1, nvlink: {links: 1, rate: 1 GB/s}}\nnic: {count: 1, rate: 50 GB/s}\ntiers: [" +
          tiers + "]\n",
      devices);
}

// Destinations that pass each edge, from any source.
std::vector<std::set<VertexId>> destinations_by_edge(const NetworkGraph& graph) {
  StaticRouter router(graph);
  std::vector<std::set<VertexId>> passing(graph.edge_count());
  for (Rank to = 0; to < graph.device_count(); ++to) {
    for (Rank from = 0; from < graph.device_count(); ++from) {
      for (const EdgeId edge : router.hashed_path({graph.device(from), graph.device(to), 0}, 1))
        passing[edge].insert(graph.device(to));
    }
  }
  return passing;
}

// The least and the most destinations on the links of each switch into a group of vertices: {leaf up, spine down, ...}.
void expect_even(const NetworkGraph& graph, std::size_t slack) {
  const auto passing = destinations_by_edge(graph);
  std::map<std::pair<VertexId, std::string>, std::pair<std::size_t, std::size_t>> range;
  for (EdgeId edge = 0; edge < graph.edge_count(); ++edge) {
    if (graph.group_of(graph.from(edge)).kind != VertexKind::network_switch) continue;
    if (graph.group_of(graph.to(edge)).kind != VertexKind::network_switch) continue;
    // Downwards each child has its own destinations: even over the cables to it.
    const bool is_up = graph.from(edge) < graph.to(edge);
    const std::string towards = is_up ? graph.group_of(graph.to(edge)).name : graph.name(graph.to(edge));
    const auto [place, is_new] = range.try_emplace({graph.from(edge), towards}, SIZE_MAX, 0);
    place->second.first = std::min(place->second.first, passing[edge].size());
    place->second.second = std::max(place->second.second, passing[edge].size());
  }
  ASSERT_FALSE(range.empty());
  for (const auto& [where, counts] : range)
    EXPECT_LE(counts.second - counts.first, slack) << graph.name(where.first) << " to " << where.second;
}

// Shifts by any number: from rank r to rank r + k mod n. The most flows on one link between switches.
std::size_t most_of_shifts(const NetworkGraph& graph, std::int64_t step = 1) {
  StaticRouter router(graph);
  std::size_t most = 0;
  for (std::int64_t k = 1; k < graph.device_count(); k += step) {
    std::map<EdgeId, std::size_t> flows;
    for (Rank from = 0; from < graph.device_count(); ++from) {
      const Rank to = (from + k) % graph.device_count();
      for (const EdgeId edge : router.hashed_path({graph.device(from), graph.device(to), 0}, 1)) {
        if (graph.group_of(graph.from(edge)).kind == VertexKind::network_switch) most = std::max(most, ++flows[edge]);
      }
    }
  }
  return most;
}

// 4 leaves of 8, four spines with two cables to each leaf: the 24 remote destinations of a leaf go 3 to each of its 8
// cables; of the 8 devices under a leaf each of the 4 x 2 cables down carries one.
TEST(StaticRouting, ParallelCablesShareDestinationsEvenly) {
  const NetworkGraph graph = tree("{name: leaf, of: 8}, {name: spine, of: 4, switches: 4}", 32)->graph();
  const auto passing = destinations_by_edge(graph);
  int up = 0;
  int down = 0;
  for (EdgeId edge = 0; edge < graph.edge_count(); ++edge) {
    const auto& from = graph.group_of(graph.from(edge)).name;
    const auto& to = graph.group_of(graph.to(edge)).name;
    const bool is_up = from == "leaf" && to == "spine";
    const bool is_down = from == "spine" && to == "leaf";
    up += is_up ? 1 : 0;
    down += is_down ? 1 : 0;
    EXPECT_TRUE(!is_up || passing[edge].size() == 3) << graph.edge_name(edge) << ": " << passing[edge].size();
    EXPECT_TRUE(!is_down || passing[edge].size() == 1) << graph.edge_name(edge) << ": " << passing[edge].size();
  }
  EXPECT_EQ(up, 4 * 8);
  EXPECT_EQ(down, 4 * 8);
}

TEST(StaticRouting, IsEvenWithinOneWhereNumbersDoNotDivide) {
  expect_even(tree("{name: leaf, of: 6}, {name: spine, of: 5, switches: 3}", 30)->graph(), 1);
  expect_even(tree("{name: leaf, of: 10, oversubscription: 2}, {name: spine, of: 3, switches: 5}", 30)->graph(), 1);
}

TEST(StaticRouting, IsEvenOverThreeTiers) {
  expect_even(tree("{name: leaf, of: 4}, {name: spine, of: 4}, {name: core, of: 4}", 64)->graph(), 0);
}

TEST(StaticRouting, ShiftsOnAFatTreeOfFullBisectionDoNotCollide) {
  EXPECT_EQ(most_of_shifts(tree("{name: leaf, of: 4}, {name: spine, of: 4}", 16)->graph()), 1U);
  EXPECT_EQ(most_of_shifts(tree("{name: leaf, of: 8}, {name: spine, of: 4, switches: 4}", 32)->graph()), 1U);
  // A core has one spine in each unit.
  const std::string tiers = "{name: leaf, of: 4}, {name: spine, of: 4}, {name: core, of: 4, switches: 16}";
  EXPECT_EQ(most_of_shifts(tree(tiers, 64)->graph()), 1U);
}

// Leaf r has the devices of rail r: eight apart in rank, neighbours in number. Shifts by whole nodes and by less.
TEST(StaticRouting, ShiftsOverRailsDoNotCollide) {
  const auto rails = any_topology(
      "kind: rail_fat_tree\nnode: {gpus: 4, nvlink: {links: 4, rate: 50 GB/s}}\nnic: {count: 4, rate: 50 GB/s}\n"
      "tiers: [{name: leaf, of: 8}, {name: spine, of: 2}]\n",
      64);
  EXPECT_EQ(most_of_shifts(rails->graph(), 1), 1U);
}

// With hashes the same shifts do collide.
TEST(StaticRouting, HashedWaysCollideWhereTablesDoNot) {
  const NetworkGraph graph = tree("{name: leaf, of: 8}, {name: spine, of: 4, switches: 4}", 32)->graph();
  Router router(graph);
  std::map<EdgeId, std::size_t> flows;
  std::size_t most = 0;
  for (Rank from = 0; from < 32; ++from) {
    const VertexId to = graph.device((from + 8) % 32);
    for (const EdgeId edge : router.hashed_path({graph.device(from), to, 0}, 1)) most = std::max(most, ++flows[edge]);
  }
  EXPECT_GT(most, 1U);
}

TEST(StaticRouting, TablesAreTheFabricsWhateverTheJob) {
  NetworkGraph graph = tree("{name: leaf, of: 4}, {name: spine, of: 4}", 16)->graph();
  const VertexId from = graph.device(0);
  const VertexId to = graph.device(13);
  const auto whole = StaticRouter(graph).hashed_path({from, to, 0}, 1);
  graph.set_devices({from, to});
  graph.finish();
  EXPECT_EQ(StaticRouter(graph).hashed_path({from, to, 0}, 1), whole);
}

}  // namespace
}  // namespace warploom
