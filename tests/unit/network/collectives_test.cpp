// SPDX-License-Identifier: Apache-2.0
// Every collective proven: its chunk schedule leaves every rank with the right contributions, and its plan moves the
// bytes that the schedule does.
#include "network/collectives.hpp"

#include <gtest/gtest.h>

#include <bitset>
#include <map>

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
          has = true;
          break;
        case CollectiveKind::all_gather:
          has = chunk == rank;
          break;
        case CollectiveKind::broadcast:
        case CollectiveKind::send_recv:
          has = rank == 0;
          break;
        case CollectiveKind::all_to_all:
          has = chunk / ranks == rank;
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
      }
    }
  }
}

// Every wire byte is payload, so that bytes can be compared.
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
  return library;
}

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
  const auto library = plain_library();
  for (const auto& [name, collective] : all_collectives()) {
    for (int ranks = 2; ranks <= 64; ++ranks) {
      if (collective->kind() == CollectiveKind::send_recv && ranks > 2) break;
      SCOPED_TRACE(name + " of " + std::to_string(ranks));
      const auto schedule = collective->schedule(ranks);
      const Bytes chunk(1'000'003);
      // What an all-to-all counts is what one rank sends: a row of the chunks.
      const int counted = collective->kind() == CollectiveKind::all_to_all ? ranks : schedule.chunks;
      const Call call{collective->kind(), chunk * counted, DataType::bf16, 0};
      const auto plan = collective->plan(call, test::group({{ranks, 1}}, {}), *rack, library);
      ASSERT_EQ(plan.steps.size(), 1U);
      ASSERT_EQ(plan.steps[0].bundles.size(), 1U);
      const auto& bundle = plan.steps[0].bundles[0];
      EXPECT_EQ(plan.protocol, "simple");
      std::map<std::pair<int, int>, std::int64_t> links;
      for (const auto& transfer : schedule.transfers) ++links[{transfer.from, transfer.to}];
      // The flows are the links, and carry the same.
      std::size_t flows = 0;
      switch (bundle.traffic.pattern) {
        case FlowPattern::ring:
          flows = static_cast<std::size_t>(ranks);
          break;
        case FlowPattern::chain:
          flows = static_cast<std::size_t>(ranks - 1);
          break;
        case FlowPattern::pair:
          flows = 1;
          break;
        case FlowPattern::all_pairs:
          flows = static_cast<std::size_t>(ranks * (ranks - 1));
          break;
      }
      EXPECT_EQ(links.size(), flows);
      for (const auto& [link, chunks] : links) EXPECT_EQ(bundle.bytes_per_flow, chunk * chunks);
      if (bundle.traffic.pattern == FlowPattern::ring) {
        for (const auto& [link, chunks] : links) EXPECT_EQ(link.second, (link.first + 1) % ranks);
      }
    }
  }
}

TEST(Collectives, RingAllReduceSendsTwiceTheBufferTimesNMinusOneOverN) {
  const Planner planner(test::topology(test::one_node_text, 8), plain_library());
  for (const int n : {2, 3, 4, 5, 7, 8}) {
    const Bytes buffer = 1_GiB;
    const auto plan = planner.plan({CollectiveKind::all_reduce, buffer, DataType::bf16, 0}, test::group({{n, 1}}, {}));
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
  EXPECT_EQ(neighbours.steps[0].latency, 5_us + 4_us + 2_us + 6_us);                 // the slowest: across pods
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

}  // namespace
}  // namespace warploom
