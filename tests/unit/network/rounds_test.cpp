// SPDX-License-Identifier: Apache-2.0
// Algorithms in rounds and in levels: each round moves what its schedule does over the flows that it says, and a plan
// costs alpha, beta and gamma.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "network/collectives.hpp"
#include "network/collectives/collnet.hpp"
#include "network/collectives/levels.hpp"
#include "network/collectives/pat.hpp"
#include "network/collectives/rounds/round_algorithms.hpp"
#include "network/fabrics/axis.hpp"
#include "network/fabrics/flows.hpp"
#include "sim/core/errors.hpp"
#include "tests/unit/network/network_fixture.hpp"

namespace warploom {
namespace {

LibrarySpec plain_library() {
  LibrarySpec library;
  for (auto* protocol : {&library.ll, &library.ll128, &library.simple}) {
    protocol->base = 5_us;
    protocol->hop = 1_us;
    protocol->network_hop = 4_us;
  }
  library.ll.wire_bytes = 2;
  library.ll128.wire_bytes = 2;
  library.peer.ll.base = 2_us;
  library.peer.simple.base = 5_us;
  return library;
}

Group first(std::int64_t ranks) { return test::group({{ranks, 1}}, {}); }

const std::string rack_text = "kind: nvlink_switch\nnode: {gpus: 256, nvlink: {links: 18, rate: 50 GB/s}}\n";

Plan plan_of(const Planner& planner, CollectiveKind kind, Bytes bytes, const Group& group, const std::string& how) {
  const Call call{kind, bytes, DataType::bf16, 0};
  return planner.plan(call, group, planner.choose(call, group, {how, "simple"}));
}

using Pairs = std::set<std::pair<Rank, Rank>>;

Pairs pairs_of(const Traffic& traffic, const Group& group, std::int64_t node_size) {
  Pairs pairs;
  const TrafficShape shape(traffic, require_lines(traffic.axis, group), node_size);
  for (const auto& box : require_lines(traffic.axis, group).instances) {
    for (std::int64_t at = 0; at < box.size(); ++at) {
      for (const FlowBox& flow : shape.flows(Box(box.at(at))).routed) {
        for (std::int64_t i = 0; i < flow.from.size(); ++i)
          pairs.insert({flow.from.at(i), flow.from.at(i) + flow.delta});
      }
    }
  }
  return pairs;
}

// What each step of a schedule moves, in chunks by pair; steps without transfers left out.
std::vector<std::map<std::pair<Rank, Rank>, std::int64_t>> steps_of(const Schedule& schedule) {
  std::map<int, std::map<std::pair<Rank, Rank>, std::int64_t>> steps;
  for (const auto& transfer : schedule.transfers) ++steps[transfer.step][{transfer.from, transfer.to}];
  std::vector<std::map<std::pair<Rank, Rank>, std::int64_t>> all;
  for (auto& [step, moved] : steps) all.push_back(std::move(moved));
  return all;
}

TEST(Rounds, ARoundMovesWhatItsScheduleMovesOverTheSameFlows) {
  const auto registry = collective_registry();
  int algorithms = 0;
  for (const auto& name : registry.names()) {
    const auto collective = registry.make_named(name);
    if (collective->rounds() == nullptr) continue;
    ++algorithms;
    for (int n = 2; n <= 64; ++n) {
      SCOPED_TRACE(name + " of " + std::to_string(n));
      const auto steps = steps_of(collective->schedule(n));
      std::size_t step = 0;
      for (const Round& round : collective->rounds()->rounds(collective->kind(), n)) {
        const Traffic traffic{.pattern = round.pattern, .distance = round.distance};
        const Pairs flows = pairs_of(traffic, first(n), 256);
        for (std::int64_t i = 0; i < round.repeats; ++i, ++step) {
          ASSERT_LT(step, steps.size());
          Pairs moved;
          std::int64_t most = 0;
          std::map<Rank, std::int64_t> fan;
          for (const auto& [pair, chunks] : steps[step]) {
            moved.insert(pair);
            most = std::max(most, chunks);
            ++fan[pair.first];
          }
          EXPECT_EQ(moved, flows);
          EXPECT_EQ(most, round.pieces);
          for (const auto& [rank, count] : fan) EXPECT_EQ(count, round.fan);
        }
      }
      EXPECT_EQ(step, steps.size());
    }
  }
  EXPECT_GE(algorithms, 18);
}

TEST(Rounds, RoundsAreAsManyAsTheAlgorithmSays) {
  const auto count = [](LevelAlgorithm name, CollectiveKind kind, std::int64_t n) {
    std::int64_t rounds = 0;
    for (const Round& round : round_algorithm(name).rounds(kind, n)) rounds += round.repeats;
    return rounds;
  };
  for (std::int64_t n = 2; n <= 64; ++n) {
    std::int64_t log_up = 0;
    while ((std::int64_t{1} << log_up) < n) ++log_up;
    EXPECT_EQ(count(LevelAlgorithm::ring, CollectiveKind::all_reduce, n), 2 * (n - 1));
    EXPECT_EQ(count(LevelAlgorithm::mesh, CollectiveKind::all_reduce, n), 2);
    EXPECT_EQ(count(LevelAlgorithm::nhr, CollectiveKind::all_gather, n), log_up);
    EXPECT_EQ(count(LevelAlgorithm::nb, CollectiveKind::all_gather, n), log_up);
    EXPECT_EQ(count(LevelAlgorithm::nb, CollectiveKind::all_to_all, n), log_up);
    const bool is_power = power_of_two_below(n) == n;
    // Two more for those that are left over.
    EXPECT_EQ(count(LevelAlgorithm::halving_doubling, CollectiveKind::all_reduce, n),
              is_power ? 2 * log_up : 2 * (log_up - 1) + 2);
  }
}

TEST(Rounds, APlanInANodeCostsItsRoundsAndNoLessThanTheBandwidthBound) {
  const auto rack = test::topology(rack_text, 256);
  const Planner planner(rack, plain_library());
  const Bytes bytes(64 * 63 * 60 * 1000);
  for (const std::string how : {"halving_doubling", "bruck", "nhr", "mesh", "pairwise"}) {
    for (const auto kind : {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
                            CollectiveKind::all_to_all}) {
      for (const std::int64_t n : {2, 3, 5, 8, 12, 60, 63, 64}) {
        const Call call{kind, bytes, DataType::bf16, 0};
        const auto all = planner.all_options(call, first(n));
        const auto found = std::ranges::find_if(all, [&](const auto& option) {
          return name(option.algorithm) == how && option.protocol == Protocol::simple;
        });
        if (found == all.end()) continue;
        SCOPED_TRACE(how + " " + std::string(name(kind)) + " of " + std::to_string(n));
        const Plan plan = planner.plan(call, first(n), *found);
        std::int64_t rounds = 0;
        for (const Round& round : found->how->rounds()->rounds(kind, n)) rounds += round.repeats;
        Time latency = Time::zero();
        double sent = 0;  // by a member, at least
        for (const PlanStep& step : plan.steps) {
          latency += step.latency;
          for (const Bundle& bundle : step.bundles) {
            const bool is_fan = bundle.traffic.pattern == FlowPattern::all_pairs;
            sent += static_cast<double>(bundle.bytes_per_flow.count()) * static_cast<double>(is_fan ? n - 1 : 1);
          }
        }
        EXPECT_EQ(latency, 5_us + 1_us * rounds);  // alpha
        const double passes = kind == CollectiveKind::all_reduce ? 2 : 1;
        const double bound =
            passes * static_cast<double>(bytes.count()) * static_cast<double>(n - 1) / static_cast<double>(n);
        EXPECT_GE(sent, bound * (1 - 1e-9));  // beta: nobody can do with less
        const bool is_optimal = how == "nhr" || how == "mesh" || how == "pairwise" ||
                                (how == "bruck" && kind != CollectiveKind::all_to_all) || power_of_two_below(n) == n;
        if (is_optimal && how != "bruck") {
          EXPECT_NEAR(sent, bound, 10);
        }
      }
    }
  }
}

TEST(Rounds, AddingCostsGamma) {
  LibrarySpec library = plain_library();
  library.reduce_rate = 100_GBps;
  const auto rack = test::topology(rack_text, 256);
  const Bytes bytes(800'000'000);
  const Time with = time_alone(plan_of(Planner(rack, library), CollectiveKind::reduce_scatter, bytes, first(8), "nhr"));
  library.reduce_rate = Bandwidth(0);
  const Time without =
      time_alone(plan_of(Planner(rack, library), CollectiveKind::reduce_scatter, bytes, first(8), "nhr"));
  EXPECT_NEAR((with - without).seconds(), 0.7 / 100, 1e-9);
}

TEST(Rounds, PairwiseOfManyStandsForItsRounds) {
  const auto rack = test::topology(rack_text, 256);
  const Planner planner(rack, plain_library());
  const Bytes bytes(256 * 1'000'000);
  const Plan plan = plan_of(planner, CollectiveKind::all_to_all, bytes, first(256), "pairwise");
  EXPECT_NEAR(time_alone(plan).seconds(), (5_us + 255_us + Bytes(255'000'000) / 900_GBps).seconds(), 1e-9);
}

TEST(Rounds, MemberFlowsAreThoseOfEveryMemberWhateverTheNumbering) {
  const std::vector<std::vector<Stride>> numberings{
      {{24, 1}}, {{4, 2}, {6, 16}}, {{6, -8}, {4, 64}}, {{2, 1}, {3, 4}, {4, 16}}};
  for (const auto& digits : numberings) {
    Group group = test::group(digits, {}, 100);
    for (const std::int64_t distance : {1, 2, 5, 23, -1, -8}) {
      Pairs expected;
      for (std::int64_t i = 0; i < 24; ++i)
        expected.insert({group.rank(100, i), group.rank(100, ((i + distance) % 24 + 24) % 24)});
      EXPECT_EQ(pairs_of({.pattern = FlowPattern::shift, .distance = distance}, group, 8), expected);
    }
    for (const std::int64_t distance : {1, 2, 4, 8}) {
      Pairs expected;
      for (std::int64_t i = 0; i < 16; ++i) expected.insert({group.rank(100, i), group.rank(100, i ^ distance)});
      EXPECT_EQ(pairs_of({.pattern = FlowPattern::exchange, .distance = distance}, group, 8), expected);
    }
  }
}

TEST(Rounds, LinesAlongAnAxisAreThoseThatDifferInItAlone) {
  const Group group = test::group({{4, 1}, {6, 8}}, {{2, 4}});
  const auto lines = lines_along({4, 6}, group);
  ASSERT_TRUE(lines.has_value());
  EXPECT_EQ(lines->member_count(), 6);
  EXPECT_EQ(lines->instance_count(), 8);
  const auto part = lines_along({8, 3}, group);  // every other node
  ASSERT_TRUE(part.has_value());
  EXPECT_EQ(part->rank(0, 2), 32);
  EXPECT_EQ(part->instance_count(), 16);
  EXPECT_FALSE(lines_along({1, 3}, group).has_value());  // 3 of a digit of 4
  EXPECT_FALSE(lines_along({5, 2}, group).has_value());
}

TEST(Levels, ATwoLevelReduceScatterSendsAnEighthOverTheCards) {
  const auto clos = test::topology(test::clos_text, 96);
  const Planner planner(clos, plain_library());
  const Bytes bytes(96'000'000);
  const Plan plan = plan_of(planner, CollectiveKind::reduce_scatter, bytes, first(96), "hierarchical");
  ASSERT_EQ(plan.steps.size(), 2U);
  EXPECT_EQ(plan.steps[0].bundles[0].bytes_per_flow, bytes * 7 / 8);
  EXPECT_EQ(plan.steps[1].bundles[0].bytes_per_flow, Bytes(12'000'000 / 12 * 11));
  EXPECT_EQ(plan.steps[0].latency, 5_us + 7_us);
  EXPECT_GE(plan.steps[1].latency, 4_us * 11);
  EXPECT_EQ(plan.steps[1].bundles[0].traffic.axis, (Axis{8, 12}));
}

TEST(Levels, ThreeLevelsFollowTheFirstSwitches) {
  const auto clos = test::topology(test::clos_text, 96);  // 2 nodes a rack
  const Planner planner(clos, plain_library());
  const Bytes bytes(96'000'000);
  const Plan plan = plan_of(planner, CollectiveKind::all_reduce, bytes, first(96), "hierarchical_3d");
  ASSERT_EQ(plan.steps.size(), 6U);
  const std::vector<Axis> axes{{1, 8}, {8, 2}, {16, 6}, {16, 6}, {8, 2}, {1, 8}};
  const std::vector<std::int64_t> bytes_of{84'000'000, 6'000'000, 5'000'000, 5'000'000, 6'000'000, 84'000'000};
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(plan.steps[i].bundles[0].traffic.axis, axes[i]);
    EXPECT_EQ(plan.steps[i].bundles[0].bytes_per_flow.count(), bytes_of[i]);
  }
  // All in one node, or nodes of one member: no levels.
  const Call call{CollectiveKind::all_reduce, bytes, DataType::bf16, 0};
  EXPECT_THROW(planner.choose(call, first(8), {"hierarchical_3d", ""}), UserError);
  EXPECT_THROW(planner.choose(call, test::group({{12, 8}}, {}), {"hierarchical_3d", ""}), UserError);
}

TEST(Levels, APipelineTakesTheSlowerPartOfEachRoundAndOneInside) {
  const Planner planner(test::topology(test::clos_text, 96), plain_library());
  const Bytes bytes(96'000'000);
  const Plan plan = plan_of(planner, CollectiveKind::all_gather, bytes, first(96), "pipeline");
  ASSERT_EQ(plan.steps.size(), 2U);
  // 12 nodes: 11 slices of 1 MB around, each to 7 others meanwhile; then the last inside.
  EXPECT_EQ(plan.steps[0].bundles[0].bytes_per_flow, Bytes(11'000'000));
  EXPECT_EQ(plan.steps[0].bundles[1].bytes_per_flow, Bytes(11'000'000));
  EXPECT_EQ(plan.steps[1].bundles[0].bytes_per_flow, Bytes(1'000'000));
  EXPECT_EQ(plan.steps[1].latency, 1_us);
  const double between = 11e6 / 50e9;
  const double inside = 7e6 / 450e9;
  EXPECT_NEAR(time_alone(plan).seconds(), plan.steps[0].latency.seconds() + between + 1e-6 + inside, 1e-9);
}

TEST(Levels, AllToAllOverRailsSendsNothingAcrossThem) {
  const auto rails = test::topology(test::rail_text, 128);
  const Planner planner(rails, plain_library());
  const Bytes bytes(128'000'000);
  const Plan plan = plan_of(planner, CollectiveKind::all_to_all, bytes, first(128), "pxn");
  ASSERT_EQ(plan.steps.size(), 1U);
  ASSERT_EQ(plan.steps[0].bundles.size(), 2U);
  EXPECT_EQ(plan.steps[0].bundles[0].bytes_per_flow, Bytes(16'000'000));  // N B / n to each of the node's others
  EXPECT_EQ(plan.steps[0].bundles[1].bytes_per_flow, Bytes(8'000'000));   // k B / n along the rail
  for (const auto& [from, to] : pairs_of(plan.steps[0].bundles[1].traffic, first(128), 8)) EXPECT_EQ(from % 8, to % 8);
  for (const auto& [from, to] : pairs_of(plan.steps[0].bundles[0].traffic, first(128), 8)) EXPECT_EQ(from / 8, to / 8);
}

TEST(Levels, ASendOverRailsLeavesByTheTargetsRail) {
  const Group neighbours = test::group({{2, 1}}, {}, 7);  // 7 -> 8: rail 7 to rail 0 of the next node
  EXPECT_EQ(pairs_of({.pattern = FlowPattern::rail_pair}, neighbours, 8), (Pairs{{7, 0}, {0, 8}}));
  const Planner planner(test::topology(test::rail_text, 128), plain_library());
  const Plan plan = plan_of(planner, CollectiveKind::send_recv, 100_MB, neighbours, "pxn");
  EXPECT_EQ(plan.steps[0].bundles[0].traffic.pattern, FlowPattern::rail_pair);
  // And through the fabric it moves at the card's rate.
  test::FabricBench bench(test::topology(test::rail_text, 128), {neighbours},
                          {{Time::zero(), test::bundle(FlowPattern::rail_pair, 0, Bytes(500'000'000))}});
  EXPECT_EQ(bench.run()[0].time, Bytes(500'000'000) / 50_GBps);
}

TEST(Levels, RoundsPlayedOnTheFabricTakeWhatTheirLinksGive) {
  // 8 ranks of a node exchange at distance 4: each port 100 MB each way.
  test::FabricBench bench(
      test::topology(test::one_node_text, 8), {first(8)},
      {{Time::zero(), {{FlowPattern::exchange, 0, 4, {}, {}}, true, Bytes(450'000'000), Bandwidth(0)}}});
  EXPECT_EQ(bench.run()[0].time, 1_ms);
  // 16 nodes, 2 a rack, 1:1 to pods of 6 racks with 7:1 above: a ring along the rails of each node.
  test::FabricBench rings(
      test::topology(test::clos_text, 96), {first(96)},
      {{Time::zero(), {{FlowPattern::ring, 0, 0, {8, 12}, {}}, true, Bytes(500'000'000), Bandwidth(0)}}});
  EXPECT_EQ(rings.run()[0].time, 10_ms);
}

TEST(Pat, MessagesAreBoundedAndAllIsSent) {
  const auto clos = test::topology(test::clos_text, 768);
  LibrarySpec library = plain_library();
  library.pat = true;
  library.simple.chunk = 64_KiB;
  const Planner planner(clos, library);
  const Group group = test::group({{64, 8}}, {});  // one a node
  for (const Bytes bytes : {Bytes(64 * 1000), Bytes(64'000'000)}) {
    const Plan plan = plan_of(planner, CollectiveKind::all_gather, bytes, group, "pat");
    const GroupProfile profile = profile_of(FlowPattern::ring, group, *clos);
    const Call call{CollectiveKind::all_gather, bytes, DataType::bf16, 0};
    const auto most = detail::pat_aggregation({call, group, profile, *clos, library}, Protocol::simple);
    std::int64_t sent = 0;
    for (const auto& step : plan.steps) sent += step.bundles[0].bytes_per_flow.count();
    EXPECT_EQ(sent, bytes.count() / 64 * 63);
    std::int64_t messages = 0;
    for (const std::int64_t pieces : {1, 2, 4, 8, 16, 32}) messages += (pieces + most - 1) / most;
    Time latency = Time::zero();
    for (const auto& step : plan.steps) latency += step.latency;
    EXPECT_GE(latency, 5_us + 4_us * messages);
  }
  EXPECT_THROW(planner.choose({CollectiveKind::all_gather, 1_MB, DataType::bf16, 0}, first(64), {"pat", ""}),
               UserError);
}

TEST(Collnet, TheCardsCarryTheBufferOnceWhateverTheNodes) {
  LibrarySpec library = plain_library();
  library.collnet.enabled = true;
  for (const std::int64_t nodes : {2, 8, 12}) {
    const Planner planner(test::topology(test::clos_text, 96), library);
    const Plan plan = plan_of(planner, CollectiveKind::all_reduce, 1_GB, first(8 * nodes), "collnet_direct");
    EXPECT_EQ(plan.steps[0].bundles[0].bytes_per_flow, 1_GB);
    EXPECT_EQ(plan.steps[0].bundles[0].flow_limit.value(), (400_GBps).value());
    EXPECT_EQ(plan.steps[0].bundles[1].bytes_per_flow, 1_GB * 14 / 8);
    EXPECT_EQ(plan.steps[0].latency,
              5_us + (Time::picoseconds(3'700'000) + Time::picoseconds(400'000) * 7) * 2 + 31_us);
    const Plan chain = plan_of(planner, CollectiveKind::all_reduce, 1_GB, first(8 * nodes), "collnet_chain");
    EXPECT_EQ(chain.steps[0].latency, 5_us + Time::picoseconds(2'800'000) * 14 + 30_us);
  }
}

TEST(Rooted, AGatherIsBoundByTheRootsPort) {
  const Planner planner(test::topology(test::one_node_text, 8), plain_library());
  for (const auto kind : {CollectiveKind::gather, CollectiveKind::scatter}) {
    const Call call{kind, Bytes(800'000'000), DataType::bf16, 0};
    const Plan plan = planner.plan(call, first(8));
    EXPECT_EQ(plan.algorithm, "direct");
    EXPECT_EQ(plan.steps[0].bundles[0].bytes_per_flow, Bytes(100'000'000));
    test::FabricBench bench(test::topology(test::one_node_text, 8), {first(8)},
                            {{Time::zero(), plan.steps[0].bundles[0]}});
    EXPECT_NEAR(bench.run()[0].time.seconds(), 0.7 / 450, 1e-9);
  }
}

}  // namespace
}  // namespace warploom
