// SPDX-License-Identifier: Apache-2.0
// Every collective proven: its chunk schedule leaves every rank with the right contributions, and its plan moves the
// bytes that the schedule does.
#include "network/collectives.hpp"

#include <gtest/gtest.h>

#include <bitset>
#include <map>

#include "network/collectives/channels.hpp"
#include "network/collectives/hierarchical_all_reduce.hpp"
#include "network/collectives/nvls_all_reduce.hpp"
#include "network/collectives/tree_all_reduce.hpp"
#include "network/fabrics/flows.hpp"
#include "sim/core/errors.hpp"
#include "tests/unit/network/network_fixture.hpp"

namespace warploom {
namespace {

using Contributions = std::bitset<64>;
using State = std::vector<std::vector<Contributions>>;  // by rank and chunk

// Who has contributed to what, before the call.
State initial(CollectiveKind kind, const Schedule& schedule) {
  const auto ranks = static_cast<std::size_t>(schedule.ranks);
  const auto chunks = static_cast<std::size_t>(schedule.chunks);
  State state(ranks, std::vector<Contributions>(chunks));
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
      bool has = false;
      switch (kind) {
        case CollectiveKind::all_reduce:
        case CollectiveKind::reduce_scatter:
        case CollectiveKind::reduce:
          has = true;
          break;
        case CollectiveKind::all_gather:
        case CollectiveKind::gather:
          has = chunk == rank;
          break;
        case CollectiveKind::broadcast:
        case CollectiveKind::send_recv:
        case CollectiveKind::scatter:
          has = rank == 0;
          break;
        case CollectiveKind::all_to_all:
          has = chunk / ranks == rank;
          break;
        case CollectiveKind::moe_dispatch:  // moe_test.cpp
        case CollectiveKind::moe_combine:
          break;
      }
      if (has) state[rank][chunk].set(rank);
    }
  }
  return state;
}

// Plays the schedule; sends of a step read the state before it. Fails when a contribution would be added twice.
State play(const Schedule& schedule, State state) {
  auto next = state;
  for (std::size_t i = 0; i < schedule.transfers.size();) {
    const int step = schedule.transfers[i].step;
    std::size_t end = i;
    while (end < schedule.transfers.size() && schedule.transfers[end].step == step) ++end;
    for (; i < end; ++i) {
      const auto& transfer = schedule.transfers[i];
      const auto chunk = static_cast<std::size_t>(transfer.chunk);
      const auto& sent = state[static_cast<std::size_t>(transfer.from)][chunk];
      auto& kept = next[static_cast<std::size_t>(transfer.to)][chunk];
      EXPECT_TRUE(sent.any()) << "rank " << transfer.from << " sends chunk " << chunk << " without having it";
      if (transfer.reduce) {
        EXPECT_TRUE((kept & sent).none()) << "added twice";
        kept |= sent;
      } else {
        kept = sent;
      }
    }
    state = next;
  }
  return state;
}

void expect_result(CollectiveKind kind, const Schedule& schedule, const State& state) {
  const auto ranks = static_cast<std::size_t>(schedule.ranks);
  Contributions all;
  for (std::size_t rank = 0; rank < ranks; ++rank) all.set(rank);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (std::size_t chunk = 0; chunk < state[rank].size(); ++chunk) {
      Contributions one;
      switch (kind) {
        case CollectiveKind::all_reduce:
          EXPECT_EQ(state[rank][chunk], all);
          break;
        case CollectiveKind::reduce_scatter:
          if (chunk == rank) {
            EXPECT_EQ(state[rank][chunk], all);
          }
          break;
        case CollectiveKind::all_gather:
          EXPECT_EQ(state[rank][chunk], one.set(chunk));
          break;
        case CollectiveKind::broadcast:
        case CollectiveKind::send_recv:
          EXPECT_EQ(state[rank][chunk], one.set(0));
          break;
        case CollectiveKind::all_to_all:
          if (chunk % ranks == rank) {
            EXPECT_EQ(state[rank][chunk], one.set(chunk / ranks));
          }
          break;
        case CollectiveKind::reduce:
          if (rank == 0) {
            EXPECT_EQ(state[rank][chunk], all);
          }
          break;
        case CollectiveKind::gather:
          if (rank == 0) {
            EXPECT_EQ(state[rank][chunk], one.set(chunk));
          }
          break;
        case CollectiveKind::scatter:
          if (chunk == rank) {
            EXPECT_EQ(state[rank][chunk], one.set(0));
          }
        case CollectiveKind::moe_dispatch:
        case CollectiveKind::moe_combine:
          break;
      }
    }
  }
}

// Under the bulk protocol every wire byte is payload, so that bytes can be compared.
LibrarySpec plain_library() {
  LibrarySpec library;
  for (auto* protocol : {&library.ll, &library.ll128, &library.simple}) {
    protocol->base = 5_us;
    protocol->hop = 1_us;
    protocol->network_hop = 4_us;
  }
  library.ll.wire_bytes = 2;
  library.ll.efficiency = library.ll.network_efficiency = 0.1;
  library.ll128.wire_bytes = 2;
  library.ll128.efficiency = library.ll128.network_efficiency = 0.1;
  library.peer.ll.base = 2_us;
  library.peer.simple.base = 5_us;
  library.nvls.enabled = true;
  library.nvls.step = 4_us;
  return library;
}

// A call of the first ranks and all that a plan may depend on.
struct Stage {
  Stage(CollectiveKind kind, Bytes bytes, Group ranks, std::shared_ptr<const Topology> on, LibrarySpec spec)
      : call{kind, bytes, DataType::bf16, 0},
        group(std::move(ranks)),
        topology(std::move(on)),
        library(std::move(spec)),
        profile(profile_of(FlowPattern::ring, group, *topology)) {}
  Setting setting() const { return {call, group, profile, *topology, library}; }

  Call call;
  Group group;
  std::shared_ptr<const Topology> topology;
  LibrarySpec library;
  GroupProfile profile;
};

std::vector<std::pair<std::string, std::unique_ptr<Collective>>> all_collectives() {
  std::vector<std::pair<std::string, std::unique_ptr<Collective>>> made;
  const auto registry = collective_registry();
  for (const auto& name : registry.names()) made.emplace_back(name, registry.make_named(name));
  return made;
}

TEST(Collectives, EveryRankEndsWithTheRightContributions) {
  for (const auto& [name, collective] : all_collectives()) {
    for (int ranks = 2; ranks <= 64; ++ranks) {
      if (collective->kind() == CollectiveKind::send_recv && ranks > 2) break;
      SCOPED_TRACE(name + " of " + std::to_string(ranks));
      auto schedule = collective->schedule(ranks);
      std::ranges::sort(schedule.transfers, {}, &Transfer::step);
      expect_result(collective->kind(), schedule, play(schedule, initial(collective->kind(), schedule)));
    }
  }
}

TEST(Collectives, APlanMovesWhatItsScheduleMoves) {
  const auto rack = test::topology("kind: nvlink_switch\nnode: {gpus: 64, nvlink: {links: 18, rate: 50 GB/s}}\n", 64);
  for (const auto& [name, collective] : all_collectives()) {
    const bool is_ring_or_direct =
        collective->algorithm() == Algorithm::ring || collective->algorithm() == Algorithm::direct;
    // Calls with a root run down a chain or meet at one port (rounds_test.cpp).
    const bool has_root = collective->kind() >= CollectiveKind::reduce;
    if (!is_ring_or_direct || has_root || collective->rounds() != nullptr) continue;
    for (int ranks = 2; ranks <= 64; ++ranks) {
      if (collective->kind() == CollectiveKind::send_recv && ranks > 2) break;
      SCOPED_TRACE(name + " of " + std::to_string(ranks));
      const auto schedule = collective->schedule(ranks);
      const Bytes chunk(1'000'003);
      // What an all-to-all counts is what one rank sends: a row of the chunks.
      const int counted = collective->kind() == CollectiveKind::all_to_all ? ranks : schedule.chunks;
      const Stage stage(collective->kind(), chunk * counted, test::group({{ranks, 1}}, {}), rack, plain_library());
      const auto plan = collective->plan(stage.setting(), Protocol::simple);
      ASSERT_EQ(plan.steps.size(), 1U);
      ASSERT_EQ(plan.steps[0].bundles.size(), 1U);
      const auto& bundle = plan.steps[0].bundles[0];
      std::map<std::pair<int, int>, std::int64_t> links;
      for (const auto& transfer : schedule.transfers) ++links[{transfer.from, transfer.to}];
      // The flows are the links, and carry the same.
      const std::map<FlowPattern, int> flows{{FlowPattern::ring, ranks},
                                             {FlowPattern::chain, ranks - 1},
                                             {FlowPattern::pair, 1},
                                             {FlowPattern::all_pairs, ranks * (ranks - 1)}};
      EXPECT_EQ(static_cast<int>(links.size()), flows.at(bundle.traffic.pattern));
      for (const auto& [link, chunks] : links) EXPECT_EQ(bundle.bytes_per_flow, chunk * chunks);
      if (bundle.traffic.pattern == FlowPattern::ring) {
        for (const auto& [link, chunks] : links) EXPECT_EQ(link.second, (link.first + 1) % ranks);
      }
    }
  }
}

// Bytes that leave each rank under a pattern, by the fabric's own flows.
std::vector<double> sent_by_pattern(const Bundle& bundle, const Group& group, std::int64_t node_size,
                                    std::int64_t ranks) {
  std::vector<double> sent(static_cast<std::size_t>(ranks), 0);
  const TrafficShape shape(bundle.traffic.pattern, group, node_size);
  const Flows flows = shape.flows(Box(0));
  const auto add = [&](Rank rank, std::int64_t units) {
    sent[static_cast<std::size_t>(rank)] += static_cast<double>(bundle.bytes_per_flow.count()) *
                                            static_cast<double>(units) / static_cast<double>(units_per_flow);
  };
  for (const auto& flow : flows.routed) {
    for (std::int64_t i = 0; i < flow.from.size(); ++i) add(flow.from.at(i), flow.units);
  }
  for (const auto& port : flows.ports) {
    for (std::int64_t i = 0; i < port.ranks.size(); ++i) add(port.ranks.at(i), port.units);
  }
  return sent;
}

TEST(Collectives, ATreeOverNodesSendsWhatItsScheduleSends) {
  const TreeAllReduce tree;
  for (int nodes = 2; nodes <= 64; ++nodes) {
    SCOPED_TRACE(nodes);
    const auto clos = test::topology(test::clos_text, 8 * nodes);
    const Stage stage(CollectiveKind::all_reduce, 1_GB, test::group({{nodes, 8}}, {}), clos, plain_library());
    const auto plan = tree.plan(stage.setting(), Protocol::simple);
    ASSERT_EQ(plan.steps.size(), 1U);
    ASSERT_EQ(plan.steps[0].bundles.size(), 1U);  // one rank a node: no chains inside
    const auto sent = sent_by_pattern(plan.steps[0].bundles[0], stage.group, 8, 8 * nodes);
    std::vector<double> expected(static_cast<std::size_t>(nodes), 0);
    for (const auto& transfer : tree.schedule(nodes).transfers) {
      expected[static_cast<std::size_t>(transfer.from)] += 1e9 / 2;
    }
    for (int node = 0; node < nodes; ++node) {
      EXPECT_NEAR(sent[static_cast<std::size_t>(8 * node)], expected[static_cast<std::size_t>(node)], 1);
      EXPECT_LE(expected[static_cast<std::size_t>(node)], 2e9 + 1);  // a leaf of one tree is inside the other
    }
  }
}

TEST(Collectives, NvlsMovesOneAndOneNthOfTheBufferOverEveryPort) {
  const NvlsAllReduce nvls;
  for (const int n : {3, 4, 5, 8}) {
    const Stage stage(CollectiveKind::all_reduce, Bytes(840'000'000), test::group({{n, 1}}, {}),
                      test::topology(test::one_node_text, 8), plain_library());
    const auto plan = nvls.plan(stage.setting(), Protocol::simple);
    const auto sent = sent_by_pattern(plan.steps[0].bundles[0], stage.group, 8, 8);
    for (int rank = 0; rank < 8; ++rank) {
      EXPECT_NEAR(sent[static_cast<std::size_t>(rank)], rank < n ? 840e6 * (1 + 1.0 / n) : 0, 1);
    }
  }
}

TEST(Collectives, NvlsTakesWholeStepsOfTheChunkThatTheSizeGives) {
  LibrarySpec library = plain_library();
  library.nvls.efficiency = 0.9;
  const Planner planner(test::topology(test::one_node_text, 8), library);
  // 16 channels x 8 heads = 128 chunks a loop; the chunk halves below 64, 8 and 2 loops of itself.
  const std::vector<std::pair<Bytes, std::int64_t>> cases{{1_MiB, 16},  {4_MiB, 16},  {8_MiB, 32},
                                                          {32_MiB, 32}, {64_MiB, 64}, {1_GiB, 128}};
  for (const auto& [bytes, kib] : cases) {
    const Call call{CollectiveKind::all_reduce, bytes, DataType::bf16, 0};
    const auto group = test::group({{8, 1}}, {});
    const auto plan = planner.plan(call, group, planner.choose(call, group, {"nvls", ""}));
    const Bytes chunk(kib * 1024);
    const Time step = 4_us + chunk * (16 * 9) / (450_GBps * 0.9);
    const auto loops = (bytes.count() + 128 * chunk.count() - 1) / (128 * chunk.count());
    const auto& bundle = plan.steps[0].bundles[0];
    const Time took = plan.steps[0].latency + bundle.bytes_per_flow / bundle.flow_limit;
    EXPECT_NEAR(took.seconds(), (step * static_cast<double>(loops + 2)).seconds(), 1e-9) << kib;
  }
}

TEST(Collectives, AFlatSixteenThousandRanksAgreeInTenthsOfAMillisecond) {
  const auto cluster = test::topology(
      "kind: fat_tree\n" + test::node_text + "tiers: [{name: rack, of: 2}, {name: pod, of: 1024}]\n", 16384);
  const Planner planner(cluster, plain_library());
  const Call call{CollectiveKind::all_reduce, Bytes(4), DataType::fp32, 0};
  const auto plan = planner.plan(call, test::group({{16384, 1}}, {}));
  EXPECT_EQ(plan.algorithm, "tree");
  EXPECT_EQ(plan.protocol, "ll");
  // 7 hops inside the node and log2(2048) = 11 between, up and down.
  EXPECT_NEAR(plan.steps[0].latency.microseconds(), 5 + 14 * 1 + 22 * 4, 0.05);
  EXPECT_TRUE(plan.steps[0].bundles.empty());  // 4 bytes load no link
}

TEST(Collectives, AHierarchicalAllReduceMovesInsideThenBetweenThenInside) {
  const Stage stage(CollectiveKind::all_reduce, Bytes(800'000'000), test::group({{32, 1}}, {}),
                    test::topology(test::clos_text, 32), plain_library());
  const auto plan = HierarchicalAllReduce().plan(stage.setting(), Protocol::simple);
  ASSERT_EQ(plan.steps.size(), 3U);
  for (const std::size_t step : {0U, 2U}) {
    for (const double bytes : sent_by_pattern(plan.steps[step].bundles[0], stage.group, 8, 32))
      EXPECT_NEAR(bytes, 700e6, 1);
  }
  for (const double bytes : sent_by_pattern(plan.steps[1].bundles[0], stage.group, 8, 32))
    EXPECT_NEAR(bytes, 2.0 * 3 / 4 * 100e6, 1);
}

TEST(Collectives, RingAllReduceSendsTwiceTheBufferTimesNMinusOneOverN) {
  const Planner planner(test::topology(test::one_node_text, 8), plain_library());
  for (const int n : {2, 3, 4, 5, 7, 8}) {
    const Bytes buffer = 1_GiB;
    const Call call{CollectiveKind::all_reduce, buffer, DataType::bf16, 0};
    const auto group = test::group({{n, 1}}, {});
    const auto plan = planner.plan(call, group, planner.choose(call, group, {"ring", "simple"}));
    EXPECT_EQ(plan.algorithm, "ring");
    EXPECT_NEAR(static_cast<double>(plan.steps[0].bundles[0].bytes_per_flow.count()),
                2.0 * (n - 1) / n * static_cast<double>(buffer.count()), 0.5);  // scenario A10
  }
}

TEST(Collectives, TimeIsNeverBelowTheAlphaBetaBound) {
  const auto clos = test::topology(test::clos_text, 768);
  const auto library = plain_library();
  const Planner planner(clos, library);
  for (const std::int64_t nodes : {1, 2, 5, 24}) {
    const auto group = test::group({{8 * nodes, 1}}, {});
    const std::int64_t n = 8 * nodes;
    for (const Bytes bytes : {1_kB, 1_MB, 1_GB}) {
      const auto plan = planner.plan({CollectiveKind::all_gather, bytes, DataType::bf16, 0}, group);
      const Time alpha = 5_us + 1_us * (n - nodes) + 4_us * (nodes - 1);
      EXPECT_GE(plan.steps[0].latency + 1_ps, alpha);
      const auto& bundle = plan.steps[0].bundles[0];
      EXPECT_GE(bundle.bytes_per_flow, bytes * (n - 1) / n);
      const Bandwidth most = nodes == 1 ? 450_GBps : 400_GBps;
      EXPECT_LE(bundle.flow_limit.value(), most.value() * 1.0001 * 2);  // LL sends two bytes for one
    }
  }
}

TEST(Collectives, AGroupOfOneNeedsNothing) {
  const Planner planner(test::topology(test::one_node_text, 8), plain_library());
  const auto plan = planner.plan({CollectiveKind::all_reduce, 1_GB, DataType::bf16, 0}, test::group({}, {{8, 1}}));
  EXPECT_TRUE(plan.steps.empty());
}

TEST(Collectives, ThePlanOfAFoldedGroupIsThatOfItsInstances) {
  const Planner planner(test::topology(test::rail_text, 512), plain_library());
  const auto folded = test::group({{32, 16}}, {{16, 1}});  // 2 nodes apart, every rail
  const Call call{CollectiveKind::reduce_scatter, 3_MB, DataType::fp32, 0};
  const auto whole = planner.plan(call, folded);
  EXPECT_TRUE(whole.members_alike);
  for (const auto& one : test::unfolded(folded)) {
    const auto plan = planner.plan(call, one);
    EXPECT_EQ(plan.steps[0].latency, whole.steps[0].latency);
    EXPECT_EQ(plan.steps[0].bundles[0].bytes_per_flow, whole.steps[0].bundles[0].bytes_per_flow);
    EXPECT_EQ(plan.steps[0].bundles[0].flow_limit, whole.steps[0].bundles[0].flow_limit);
  }
}

TEST(Collectives, InstancesOfUnequalLatencySaySo) {
  const std::string text =
      "kind: fat_tree\n" + test::node_text +
      "tiers: [{name: rack, of: 2, latency: 1 us}, {name: pod, of: 6, latency: 3 us}, {name: core, of: 8}]\n";
  const Planner planner(test::topology(text, 768), plain_library());
  const Call call{CollectiveKind::send_recv, 1_MB, DataType::bf16, 0};
  const auto neighbours = planner.plan(call, test::group({{2, 8}}, {{95, 8}}));
  EXPECT_FALSE(neighbours.members_alike);
  EXPECT_EQ(neighbours.steps[0].latency, 2_us + 4_us + 2_us + 6_us);                 // the slowest: across pods
  EXPECT_TRUE(planner.plan(call, test::group({{2, 8}}, {{48, 16}})).members_alike);  // all inside racks
}

TEST(Collectives, BadCallsAreTheUsersMistake) {
  const Planner planner(test::topology(test::one_node_text, 8), plain_library());
  EXPECT_THROW(planner.plan({CollectiveKind::send_recv, 1_MB, DataType::bf16, 0}, test::group({{3, 1}}, {})),
               UserError);
  EXPECT_THROW(planner.plan({CollectiveKind::all_reduce, 1_MB, DataType::bf16, 0}, test::group({{9, 1}}, {})),
               UserError);
  EXPECT_THROW(planner.plan({CollectiveKind::all_reduce, Bytes(-1), DataType::bf16, 0}, test::group({{8, 1}}, {})),
               UserError);
}

TEST(Collectives, AMessageInANodeTakesLessThanOneBetweenNodes) {
  LibrarySpec library = plain_library();
  library.peer.network_ll = true;
  const Planner planner(test::topology(test::clos_text, 768), library);
  for (const Bytes bytes : {1_kB, 512_kB, 8_MB}) {
    const Call call{CollectiveKind::send_recv, bytes, DataType::bf16, 0};
    const auto inside = planner.plan(call, test::group({{2, 1}}, {}));
    const auto between = planner.plan(call, test::group({{2, 8}}, {}));
    EXPECT_EQ(inside.protocol, between.protocol);
    EXPECT_EQ(inside.steps[0].latency + 4_us, between.steps[0].latency);
  }
}

TEST(Collectives, MessagesGoByLlUpToTheSizeThatTheVersionSays) {
  LibrarySpec library = plain_library();
  library.peer.ll_bytes = 512_KiB;
  library.changes = {{"2.29", std::nullopt, 16_KiB, std::nullopt, ""}};
  const auto protocol = [&](const std::string& version, Bytes bytes) {
    library.version = version;
    const Planner planner(test::topology(test::one_node_text, 8), library);
    return planner.plan({CollectiveKind::all_to_all, bytes * 8, DataType::bf16, 0}, test::group({{8, 1}}, {})).protocol;
  };
  EXPECT_EQ(protocol("2.28.9", 512_KiB), "ll");
  EXPECT_EQ(protocol("2.28.9", 512_KiB + Bytes(1)), "simple");
  EXPECT_EQ(protocol("2.29", 16_KiB), "ll");
  EXPECT_EQ(protocol("2.30.7", 16_KiB + Bytes(1)), "simple");
  EXPECT_EQ(protocol("", 512_KiB), "ll");
}

TEST(Collectives, AHopOfAChainCostsItsLatencyAndNothingElse) {
  const Planner planner(test::topology(test::one_node_text, 8), plain_library());
  for (const auto kind : {CollectiveKind::broadcast, CollectiveKind::reduce}) {
    const auto time = [&](std::int64_t ranks) {
      const Plan plan = planner.plan({kind, 1_GB, DataType::bf16, 0}, test::group({{ranks, 1}}, {}));
      return plan.steps[0].latency;
    };
    EXPECT_EQ(time(8) - time(2), plain_library().simple.hop * 6);
  }
}

// NCCL's log on 8 H800 (8 links of 20.6 GB/s): 16 coll channels.
TEST(Collectives, TheSearchTriesNoSpeedBelowHalfOfItsBest) {
  LibrarySpec library;
  for (const double speed : {60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3}) library.tuner.speeds.emplace_back(speed * 1e9);
  library.tuner.split_above = 50_GBps;
  const RingGraph rings = search_rings(Bandwidth(8 * 20.6e9), library);
  EXPECT_EQ(2 * rings.channels, 16);
  EXPECT_EQ(rings.channel_rate, 20_GBps);
}

TEST(Collectives, MessagesThatLeaveTheNodeHaveNoLlUnlessTheirBuffersAre) {
  LibrarySpec library = plain_library();
  const auto protocol = [&](std::int64_t ranks) {
    const Planner planner(test::topology(test::clos_text, 768), library);
    return planner.plan({CollectiveKind::all_to_all, 1_KiB * ranks, DataType::bf16, 0}, test::group({{ranks, 1}}, {}))
        .protocol;
  };
  EXPECT_EQ(protocol(8), "ll");
  EXPECT_EQ(protocol(16), "simple");
  library.peer.network_ll = true;
  EXPECT_EQ(protocol(16), "ll");
  library.peer.network_ll = false;
  library.peer.over_network = false;  // sockets of one host
  EXPECT_EQ(protocol(16), "ll");
}

TEST(Collectives, VersionsCompareNumberByNumber) {
  EXPECT_TRUE(is_version_at_least("2.29.2", "2.29"));
  EXPECT_TRUE(is_version_at_least("2.29", "2.29.0"));
  EXPECT_FALSE(is_version_at_least("2.9.9", "2.29"));
  EXPECT_TRUE(is_version_at_least("10.0", "9.99"));
}

TEST(Collectives, WhatIsWantedIsTakenWhereItIsThere) {
  LibrarySpec library = plain_library();
  library.algorithm = "ring";
  library.protocol = "ll";
  const Planner planner(test::topology(test::one_node_text, 8), library);
  const auto group = test::group({{8, 1}}, {});
  EXPECT_EQ(planner.plan({CollectiveKind::all_reduce, 1_GB, DataType::bf16, 0}, group).protocol, "ll");
  // Messages know no rings.
  EXPECT_EQ(planner.plan({CollectiveKind::all_to_all, 1_GB, DataType::bf16, 0}, group).algorithm, "direct");
  const Call call{CollectiveKind::all_gather, 1_MB, DataType::bf16, 0};
  EXPECT_THROW(planner.choose(call, group, {"nvls", ""}), UserError);
  EXPECT_THROW(planner.choose(call, group, {"ring", "ll129"}), UserError);
}

}  // namespace
}  // namespace warploom
