// SPDX-License-Identifier: Apache-2.0
// ASTRA-sim's collectives: the closed forms of its back ends, links that are shared, phases over dimensions.
#include <gtest/gtest.h>

#include <map>

#include "tests/support/astra_sim_experiment.hpp"

namespace warploom {
namespace {

using namespace warploom::testing;

// ---- Closed forms -------------------------------------------------------------------------------------------------

TEST(AstraSimForms, RingIsExact) {
  for (const char* block : {"Ring", "FullyConnected", "Switch"}) {
    for (const int n : {2, 4, 8, 7}) {
      for (const CommKind kind : kinds) {
        for (const std::int64_t splits : {1, 4}) {
          for (const bool aware : {false, true}) {
            const Form form{block, n, kind, 1 << 20, splits, 73.5, 511.3, 48.7, 10, aware};
            Experiment experiment;
            set_up(experiment, form, "ring");
            EXPECT_EQ(experiment.cycles(), ring_cycles(form))
                << block << " " << n << " " << name(kind) << " splits " << splits << (aware ? " aware" : " unaware");
          }
        }
      }
    }
  }
}

TEST(AstraSimForms, DirectIsExact) {
  for (const auto& [block, aware] : {std::pair("FullyConnected", false), std::pair("FullyConnected", true),
                                     std::pair("Switch", false), std::pair("Switch", true), std::pair("Ring", false)}) {
    for (const int n : {2, 4, 8}) {
      for (const CommKind kind : kinds) {
        const Form form{block, n, kind, 1 << 22, 2, 50, 250, 100, 10, aware};
        Experiment experiment;
        set_up(experiment, form, "direct");
        EXPECT_EQ(experiment.cycles(), direct_cycles(form))
            << block << " " << n << " " << name(kind) << (aware ? " aware" : " unaware");
      }
    }
  }
}

TEST(AstraSimForms, SharedLinksGiveTheSameWhereNothingIsSharedButRounding) {
  for (const char* block : {"Ring", "FullyConnected", "Switch"}) {
    for (const CommKind kind : kinds) {
      const Form form{block, 8, kind, 1 << 22, 4};
      Experiment experiment;
      set_up(experiment, form, "ring");
      experiment.inputs.backend = AstraBackend::shared_links;
      const std::int64_t rounds = kind == CommKind::all_to_all ? 28 : 14;  // each loses less than 1 ns there
      SCOPED_TRACE(fmt::format("{} {}", block, name(kind)));
      expect_ns(experiment.cycles(), ring_cycles(form), 2 + form.splits * rounds);
    }
  }
}

TEST(AstraSimForms, MessagesOfOneNpuShareItsLinkIntoASwitch) {
  // Seven messages through one link: congestion-unaware takes the time of one.
  Form form{"Switch", 8, CommKind::all_to_all, 8 << 20, 1};
  Experiment experiment;
  set_up(experiment, form, "direct");
  experiment.inputs.backend = AstraBackend::shared_links;
  const double wire = (1 << 20) / (100 * gib / 1e9);
  expect_ns(experiment.cycles(), 2 * 500 + 7 * wire + 2 * 10, 2);
  EXPECT_GT(experiment.cycles(), 2 * direct_cycles(form));
}

TEST(AstraSimForms, HalvingDoublingMovesWhatARingMovesInFewerRounds) {
  const Form form{"FullyConnected", 8, CommKind::all_reduce, 1 << 20, 1, 100, 500, 1e9};
  Experiment experiment;
  set_up(experiment, form, "halvingDoubling");
  std::int64_t expected = 10;
  for (const std::int64_t part : {2, 4, 8, 8, 4, 2}) {
    expected += floored(500 + static_cast<double>((1 << 20) / part) / (100 * gib / 1e9)) + 10;
  }
  EXPECT_EQ(experiment.cycles(), expected);
  experiment.inputs.backend = AstraBackend::shared_links;
  expect_ns(experiment.cycles(), expected, 8);
}

TEST(AstraSimForms, ABinaryTreeGoesUpAndDownItsLevels) {
  const Form form{"FullyConnected", 7, CommKind::all_reduce, 1 << 20, 1, 100, 500, 1e9};
  Experiment experiment;
  set_up(experiment, form, "doubleBinaryTree");
  const std::int64_t hop = floored(500 + (1 << 20) / (100 * gib / 1e9));
  EXPECT_EQ(experiment.cycles(), 4 * (hop + 10) + 10);  // 7 nodes: two levels below the root
  experiment.inputs.backend = AstraBackend::shared_links;
  expect_ns(experiment.cycles(), 4 * (hop + 10) + 10, 5);
}

// ---- Dimensions ---------------------------------------------------------------------------------------------------

std::int64_t two_dimensions(const std::string& optimization, CommKind kind, std::int64_t splits = 1) {
  Experiment experiment;
  experiment.inputs.system = experiment.write(
      "system.json",
      fmt::format(R"({{"scheduling-policy": "FIFO", "collective-optimization": "{}", "preferred-dataset-splits": {},
        "endpoint-delay": 0, "all-reduce-implementation": ["ring", "ring"], "all-gather-implementation": ["ring", "ring"],
        "reduce-scatter-implementation": ["ring", "ring"]}})",
                  optimization, splits));
  experiment.inputs.network = experiment.write(
      "network.yml", "topology: [ Ring, Switch ]\nnpus_count: [ 4, 2 ]\nbandwidth: [ 200, 50 ]\nlatency: [ 0, 0 ]\n");
  for (int i = 0; i < 8; ++i) experiment.rank(i, {collective(0, kind, 8 << 20)});
  return experiment.cycles();
}

TEST(AstraSimDimensions, BaselineReducesAllAlongEachDimension) {
  const double fast = 200 * gib / 1e9;
  const double slow = 50 * gib / 1e9;
  const double bytes = 8 << 20;
  expect_ns(two_dimensions("baseline", CommKind::all_reduce), 2 * 0.75 * bytes / fast + 2 * 0.5 * bytes / slow, 2);
}

TEST(AstraSimDimensions, LocalBandwidthAwareSendsAQuarterOverTheSlowOne) {
  const double fast = 200 * gib / 1e9;
  const double slow = 50 * gib / 1e9;
  const double bytes = 8 << 20;
  expect_ns(two_dimensions("localBWAware", CommKind::all_reduce),
            2 * 0.75 * bytes / fast + 2 * 0.5 * (bytes / 4) / slow, 2);
}

TEST(AstraSimDimensions, AllGatherBeginsWithTheLastDimensionWhileItIsSmall) {
  const double fast = 200 * gib / 1e9;
  const double slow = 50 * gib / 1e9;
  const double shard = 8 << 20;
  expect_ns(two_dimensions("baseline", CommKind::all_gather), shard / slow + 3 * (2 * shard) / fast, 2);
}

TEST(AstraSimDimensions, ChunksOfTwoPhasesOverlap) {
  const double fast = 200 * gib / 1e9;
  const double slow = 50 * gib / 1e9;
  const double shard = 8 << 20;
  // A pipeline of 8 chunks: one goes through both, the slower phase sets the pace of the others.
  const double first = shard / 8 / slow;
  const double second = 3 * 2 * shard / 8 / fast;
  expect_ns(two_dimensions("baseline", CommKind::all_gather, 8), first + second + 7 * std::max(first, second), 4);
}

TEST(AstraSimDimensions, AnInvolvedDimensionAloneMakesGroupsAlongIt) {
  Experiment experiment;
  experiment.system(R"("endpoint-delay": 0)");
  experiment.inputs.network = experiment.write(
      "network.yml", "topology: [ Ring, Ring ]\nnpus_count: [ 4, 2 ]\nbandwidth: [ 200, 50 ]\nlatency: [ 0, 0 ]\n");
  for (int i = 0; i < 8; ++i) {
    auto node = collective(1, CommKind::all_gather, 8 << 20, {0});
    node.comm.involved = 0b01;
    node.comm.is_involved_said = true;
    experiment.rank(i, {compute(0, i < 4 ? 1'000 : 500'000), node});
  }
  const auto result = experiment.play();
  const double gather = 3.0 * (8 << 20) / (200 * gib / 1e9);
  // The ranks of the first line do not wait for those of the second.
  expect_ns((result.ranks[0].finish.ps()) / 1000, 1'000 + gather, 2);
  expect_ns((result.ranks[7].finish.ps()) / 1000, 500'000 + gather, 2);
}

}  // namespace
}  // namespace warploom
