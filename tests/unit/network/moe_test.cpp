// SPDX-License-Identifier: Apache-2.0
// MoE dispatch and combine: counts against enumeration, tokens followed one by one, plans against their equations.
#include "network/collectives/moe/moe.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "network/collective_estimate.hpp"
#include "network/collectives/moe/moe_reach.hpp"
#include "sim/core/errors.hpp"
#include "tests/unit/network/cluster_fixture.hpp"
#include "tests/unit/network/network_fixture.hpp"

namespace warploom {
namespace {

using test::cluster;

constexpr auto dispatch = CollectiveKind::moe_dispatch;
constexpr auto combine = CollectiveKind::moe_combine;
constexpr auto modes = {MoeMode::normal, MoeMode::low_latency};

// DeepSeek-V3's layer.
MoeTraffic layer(MoeMode mode, std::int64_t tokens = 128) {
  MoeTraffic traffic;
  traffic.mode = mode;
  traffic.tokens = tokens;
  traffic.hidden = 7168;
  traffic.top_k = 8;
  traffic.experts = 256;
  return traffic;
}

Call call(CollectiveKind kind, const MoeTraffic& traffic) {
  Call made;
  made.kind = kind;
  made.moe = traffic;
  return made;
}

Time time_of(const Network& network, CollectiveKind kind, const MoeTraffic& traffic, std::int64_t ranks) {
  return estimate_chosen(network, call(kind, traffic), first_ranks(ranks)).duration;
}

// All sets of k of n, as bits.
std::vector<unsigned> sets_of(unsigned n, int k) {
  std::vector<unsigned> sets;
  for (unsigned bits = 0; bits < (1U << n); ++bits) {
    if (__builtin_popcount(bits) == k) sets.push_back(bits);
  }
  return sets;
}

TEST(MoeReach, IsTheMeanOverAllChoicesOfExperts) {
  for (const int k : {1, 2, 3, 5, 12}) {
    MoeTraffic traffic = layer(MoeMode::normal);
    traffic.experts = 12;
    traffic.top_k = k;
    double ranks = 0;
    double nodes = 0;
    const auto sets = sets_of(12, k);
    for (const unsigned set : sets) {
      std::set<int> met_ranks;
      std::set<int> met_nodes;
      for (int expert = 0; expert < 12; ++expert) {
        if ((set >> expert & 1U) == 0) continue;
        met_ranks.insert(expert / 2);
        met_nodes.insert(expert / 6);
      }
      ranks += static_cast<double>(met_ranks.size());
      nodes += static_cast<double>(met_nodes.size());
    }
    const MoeReach reach = moe_reach(traffic, 6, 2);
    EXPECT_NEAR(reach.ranks, ranks / static_cast<double>(sets.size()), 1e-12);
    EXPECT_NEAR(reach.nodes, nodes / static_cast<double>(sets.size()), 1e-12);
  }
}

TEST(MoeReach, KeepsToTheNodesOfGroupLimitedGating) {
  MoeTraffic traffic = layer(MoeMode::normal);
  traffic.node_limit = 4;
  const MoeReach limited = moe_reach(traffic, 64, 8);
  EXPECT_LE(limited.nodes, 4);
  // As if there were four nodes.
  MoeTraffic four = traffic;
  four.experts = 128;
  four.node_limit = 0;
  EXPECT_DOUBLE_EQ(limited.nodes, moe_reach(four, 32, 4).nodes);
  EXPECT_DOUBLE_EQ(limited.ranks, moe_reach(four, 32, 4).ranks);
  traffic.node_limit = 0;
  EXPECT_GT(moe_reach(traffic, 64, 8).nodes, limited.nodes);
}

TEST(MoeReach, MessagesAreElementsScalesAndHeader) {
  EXPECT_EQ(moe_message(layer(MoeMode::normal), dispatch), Bytes(7168 + 7168 / 128 * 4));
  EXPECT_EQ(moe_message(layer(MoeMode::low_latency), dispatch), Bytes(7168 + 7168 / 128 * 4 + 16));
  EXPECT_EQ(moe_message(layer(MoeMode::low_latency), combine), Bytes(7168 * 2));
  MoeTraffic wide = layer(MoeMode::normal);
  wide.dispatch_type = DataType::bf16;
  EXPECT_EQ(moe_message(wide, dispatch), Bytes(7168 * 2));
  // 270.852 GB/s in 224.057 us, as DeepEP's benchmark counts 1,024 tokens (aiconfigurator 095f58a5, H100).
  const Bytes counted = moe_bytes(layer(MoeMode::low_latency, 1024), dispatch, 8, 1);
  EXPECT_NEAR(static_cast<double>(counted.count()), 270.852e9 * 224.057e-6, 1e-4 * 270.852e9 * 224.057e-6);
}

TEST(MoeReach, UnevenLoadsAreTheMostLoadedRankOverTheMean) {
  const std::vector<std::int64_t> loads{10, 20, 5, 5, 40, 0, 10, 10};
  EXPECT_DOUBLE_EQ(rank_imbalance(loads, 8), 40.0 * 8 / 100);
  EXPECT_DOUBLE_EQ(rank_imbalance(loads, 4), 40.0 * 4 / 100);
  EXPECT_DOUBLE_EQ(rank_imbalance(loads, 1), 1);
  EXPECT_DOUBLE_EQ(rank_imbalance(std::vector<std::int64_t>(8, 0), 4), 1);
  EXPECT_THROW(rank_imbalance(loads, 3), UserError);
  EXPECT_THROW(rank_imbalance(std::vector<std::int64_t>{1, -1}, 2), UserError);
}

TEST(MoeReach, WhatCannotBeIsRefused) {
  const auto refuse = [](auto change, std::int64_t ranks = 8, std::int64_t nodes = 1) {
    MoeTraffic traffic = layer(MoeMode::normal);
    change(traffic);
    EXPECT_THROW(require_possible(traffic, ranks, nodes), UserError);
  };
  refuse([](MoeTraffic& t) { t.top_k = 257; });
  refuse([](MoeTraffic& t) { t.top_k = 0; });
  refuse([](MoeTraffic& t) { t.tokens = -1; });
  refuse([](MoeTraffic& t) { t.hidden = 0; });
  refuse([](MoeTraffic& t) { t.experts = 255; });
  refuse([](MoeTraffic& t) { t.sms = 3; });
  refuse([](MoeTraffic& t) { t.sms = 134; });
  refuse([](MoeTraffic& t) { t.imbalance = 0.5; });
  refuse([](MoeTraffic& t) { t.imbalance = 9; });
  refuse([](MoeTraffic& t) { t.memory = Bandwidth(0); });
  refuse([](MoeTraffic& t) { t.node_limit = 3; }, 16, 2);
  refuse([](MoeTraffic& t) { t.node_limit = 1, t.experts = 8, t.top_k = 5; }, 8, 2);
}

// ---- Tokens one by one --------------------------------------------------------------------------------------------

std::vector<MoeToken> random_tokens(const MoePlaces& places, int of_rank, int top_k) {
  std::mt19937 random(7);
  std::vector<std::int64_t> experts(static_cast<std::size_t>(places.experts));
  std::iota(experts.begin(), experts.end(), 0);
  std::vector<MoeToken> tokens;
  for (std::int64_t rank = 0; rank < places.ranks; ++rank) {
    for (int i = 0; i < of_rank; ++i) {
      for (std::size_t j = experts.size() - 1; j > 0; --j) std::swap(experts[j], experts[random() % (j + 1)]);
      tokens.push_back({rank, {experts.begin(), experts.begin() + top_k}});
    }
  }
  return tokens;
}

constexpr MoePlaces some_places[] = {{8, 8, 16}, {4, 2, 4}, {16, 4, 64}, {64, 8, 64}};

TEST(MoeTransfers, DispatchBringsEveryTokenToEveryExpertThatItChose) {
  for (const MoeMode mode : modes) {
    for (const MoePlaces& places : some_places) {
      const auto tokens = random_tokens(places, 5, 4);
      std::vector<std::set<std::int64_t>> holders(tokens.size());
      for (std::size_t i = 0; i < tokens.size(); ++i) holders[i].insert(tokens[i].rank);
      auto transfers = moe_transfers(mode, places, tokens);
      std::stable_sort(transfers.begin(), transfers.end(), [](auto& a, auto& b) { return a.step < b.step; });
      for (const auto& transfer : transfers) {
        auto& held = holders[static_cast<std::size_t>(transfer.token)];
        EXPECT_TRUE(held.contains(transfer.from)) << "sent before it was there";
        if (mode == MoeMode::normal) {
          EXPECT_FALSE(held.contains(transfer.to)) << "sent twice";
        }
        held.insert(transfer.to);
      }
      for (std::size_t i = 0; i < tokens.size(); ++i) {
        for (const auto expert : tokens[i].experts) EXPECT_TRUE(holders[i].contains(places.rank_of(expert)));
      }
    }
  }
}

// Each expert adds its mark to what its rank holds of a token; sums go back the way that tokens came.
TEST(MoeTransfers, CombineBringsEveryContributionBackExactlyOnce) {
  for (const MoeMode mode : modes) {
    for (const MoePlaces& places : some_places) {
      const auto tokens = random_tokens(places, 5, 4);
      auto transfers = moe_transfers(mode, places, tokens);
      std::stable_sort(transfers.begin(), transfers.end(), [](auto& a, auto& b) { return a.step > b.step; });
      std::vector<std::map<std::int64_t, std::multiset<std::int64_t>>> sums(tokens.size());
      for (std::size_t i = 0; i < tokens.size(); ++i) {
        for (const auto expert : tokens[i].experts) sums[i][places.rank_of(expert)].insert(expert);
      }
      for (const auto& transfer : transfers) {
        auto& of_token = sums[static_cast<std::size_t>(transfer.token)];
        auto& here = of_token[transfer.to];
        auto& there = of_token[transfer.from];
        if (transfer.expert >= 0) {
          const auto found = here.find(transfer.expert);
          ASSERT_NE(found, here.end());
          here.erase(found);
          there.insert(transfer.expert);
        } else {
          there.merge(here);
        }
      }
      for (std::size_t i = 0; i < tokens.size(); ++i) {
        const std::multiset<std::int64_t> all(tokens[i].experts.begin(), tokens[i].experts.end());
        EXPECT_EQ(sums[i][tokens[i].rank], all);
      }
    }
  }
}

TEST(MoeTransfers, AreAsManyAsTheReachSays) {
  const MoePlaces places{16, 4, 64};
  const auto tokens = random_tokens(places, 400, 6);
  MoeTraffic traffic = layer(MoeMode::normal);
  traffic.experts = places.experts;
  traffic.top_k = 6;
  const MoeReach reach = moe_reach(traffic, 16, 4);
  double cards = 0;
  double ports = 0;
  for (const auto& transfer : moe_transfers(MoeMode::normal, places, tokens)) {
    const bool leaves = transfer.from / places.node_size != transfer.to / places.node_size;
    (leaves ? cards : ports) += 1;
  }
  const auto count = static_cast<double>(tokens.size());
  EXPECT_NEAR(cards / count, reach.nodes * 3 / 4, 0.02);
  EXPECT_NEAR(ports / count, reach.ranks * 3 / 4, 0.05);
  const auto straight = static_cast<double>(moe_transfers(MoeMode::low_latency, places, tokens).size());
  EXPECT_NEAR(straight / count, 6.0 * 15 / 16, 0.05);
}

// ---- Plans --------------------------------------------------------------------------------------------------------

TEST(MoePlan, LargeLowLatencyDispatchesAreBoundByLinksAndTheReceivingHalf) {
  const Network network = cluster("dgx_h100", 8);
  const auto& library = network.planner->library();
  const MoeTraffic traffic = layer(MoeMode::low_latency, 65536);
  const double bytes = 65536.0 * 8 * static_cast<double>(moe_message(traffic, dispatch).count());
  const double port = network.topology->port().value() * library.moe->low_latency.dispatch.efficiency;
  const double expected = bytes * 7 / 8 / port;
  const Time gain =
      time_of(network, dispatch, layer(MoeMode::low_latency, 2 * 65536), 8) - time_of(network, dispatch, traffic, 8);
  // What is received goes through memory twice or by rounds of a warp: 64 tokens a warp group of 16.
  const double memory = 2 * bytes / traffic.memory.value();
  const double rounds = 65536.0 * 8 / 256 / 16 * library.moe->low_latency.dispatch.receive_round.seconds();
  EXPECT_NEAR(gain.seconds(), expected + std::max(memory, rounds), 0.01 * expected);
}

TEST(MoePlan, NormalKernelsAreBoundByTheirSmsUntilTheLinksAre) {
  const Network network = cluster("dgx_b200", 8);
  MoeTraffic traffic = layer(MoeMode::normal, 65536);
  traffic.sms = 4;
  const double few = time_of(network, dispatch, traffic, 8).seconds();
  traffic.sms = 8;
  const double crowding = network.planner->library().moe->normal.dispatch.crowding;
  EXPECT_NEAR(few / time_of(network, dispatch, traffic, 8).seconds(), 2 * (1 + crowding) / (1 + 3 * crowding), 0.01);
  traffic.sms = 140;
  traffic.device_sms = 148;
  const MoeReach reach = moe_reach(traffic, 8, 1);
  const double bytes = 65536 * reach.ranks * static_cast<double>(moe_message(traffic, dispatch).count()) * 7 / 8;
  const double port = network.topology->port().value() * network.planner->library().moe->normal.dispatch.efficiency;
  EXPECT_NEAR(time_of(network, dispatch, traffic, 8).seconds(), bytes / port, 0.03 * bytes / port);
}

TEST(MoePlan, BetweenNodesTheCardCarriesATokenOnceForEachOtherNode) {
  const Network network = cluster("dgx_h100", 32);
  const MoeTraffic traffic = layer(MoeMode::normal, 65536);
  const MoeReach reach = moe_reach(traffic, 32, 4);
  const double bytes = 65536 * reach.nodes * 3 / 4 * static_cast<double>(moe_message(traffic, dispatch).count());
  const double card =
      network.topology->card().value() * network.planner->library().moe->normal.dispatch.network_efficiency;
  EXPECT_NEAR(time_of(network, dispatch, traffic, 32).seconds(), bytes / card, 0.02 * bytes / card);
}

TEST(MoePlan, TimeRisesWithTokensTopKAndHidden) {
  const Network one = cluster("dgx_h100", 8);
  const Network four = cluster("dgx_h100", 32);
  for (const auto& [network, ranks] : {std::pair(&one, 8), std::pair(&four, 32)}) {
    for (const MoeMode mode : modes) {
      for (const auto kind : {dispatch, combine}) {
        Time before;
        for (std::int64_t tokens = 0; tokens <= 1 << 16; tokens = std::max<std::int64_t>(2 * tokens, 1)) {
          const Time now = time_of(*network, kind, layer(mode, tokens), ranks);
          EXPECT_GE(now, before) << tokens;
          before = now;
        }
        before = Time::zero();
        for (std::int64_t k = 1; k <= 16; ++k) {
          MoeTraffic traffic = layer(mode);
          traffic.top_k = k;
          const Time now = time_of(*network, kind, traffic, ranks);
          EXPECT_GE(now, before) << k;
          before = now;
        }
        before = Time::zero();
        for (std::int64_t hidden = 1024; hidden <= 16384; hidden += 1024) {
          MoeTraffic traffic = layer(mode);
          traffic.hidden = hidden;
          const Time now = time_of(*network, kind, traffic, ranks);
          EXPECT_GT(now, before) << hidden;
          before = now;
        }
      }
    }
  }
}

TEST(MoePlan, TheMostLoadedRankDecides) {
  const Network network = cluster("dgx_h100", 8);
  for (const MoeMode mode : modes) {
    for (const auto kind : {dispatch, combine}) {
      MoeTraffic traffic = layer(mode, 4096);
      const Plan even = network.planner->plan(call(kind, traffic), first_ranks(8));
      const Time before = time_of(network, kind, traffic, 8);
      traffic.imbalance = 2;
      const Plan uneven = network.planner->plan(call(kind, traffic), first_ranks(8));
      EXPECT_TRUE(even.members_alike);
      EXPECT_FALSE(uneven.members_alike);
      EXPECT_GT(time_of(network, kind, traffic, 8), before);
      // A token goes to every rank once at most, whatever the load.
      if (mode == MoeMode::normal) {
        EXPECT_LT(time_of(network, kind, traffic, 8), before * 8 / moe_reach(traffic, 8, 1).ranks);
      }
    }
  }
}

TEST(MoePlan, SmsAreThoseAskedForOrAsManyAsThereAreExperts) {
  const Network network = cluster("dgx_h100", 8);
  const auto sms = [&](CollectiveKind kind, const MoeTraffic& traffic) {
    return network.planner->plan(call(kind, traffic), first_ranks(8)).sms;
  };
  EXPECT_EQ(sms(dispatch, layer(MoeMode::normal)), 24);
  EXPECT_EQ(sms(dispatch, layer(MoeMode::low_latency)), 128);  // 256 experts, two an SM of 132
  MoeTraffic few = layer(MoeMode::low_latency, 1024);
  few.experts = 8;
  EXPECT_EQ(sms(dispatch, few), 8);
  EXPECT_EQ(sms(combine, few), 128);  // 1,024 tokens, eight an SM
}

// H100 and B200, 8 devices, FP8 and BF16 (aiconfigurator 095f58a5); configs/libraries/deepep.yaml was fitted to them.
TEST(MoePlan, IsNearMeasuredCalls) {
  const auto near = [](Time got, double us) { EXPECT_NEAR(got.microseconds(), us, 0.13 * us); };
  const Network h100 = cluster("dgx_h100", 8);
  near(time_of(h100, dispatch, layer(MoeMode::low_latency), 8), 36.7);
  near(time_of(h100, combine, layer(MoeMode::low_latency), 8), 67.0);
  near(time_of(h100, dispatch, layer(MoeMode::normal, 4096), 8), 498.4);
  near(time_of(h100, combine, layer(MoeMode::normal, 4096), 8), 960.6);
  const Network b200 = cluster("dgx_b200", 8);
  const auto of_b200 = [](MoeTraffic traffic) {
    traffic.device_sms = 148;
    traffic.memory = Bandwidth(7.08e12);
    return traffic;
  };
  near(time_of(b200, dispatch, of_b200(layer(MoeMode::low_latency)), 8), 33.0);
  near(time_of(b200, combine, of_b200(layer(MoeMode::low_latency)), 8), 40.9);
  near(time_of(b200, dispatch, of_b200(layer(MoeMode::normal, 2048)), 8), 253.4);
  near(time_of(b200, combine, of_b200(layer(MoeMode::normal, 2048)), 8), 435.8);
}

// DeepEP's own tables (docs/legacy.md): 128 tokens low latency; 4,096 normal, four groups, by RDMA bandwidth. Nothing
// but the card's efficiency is fitted to them.
TEST(MoePlan, IsNearDeepEpsTablesBetweenNodesOfH800) {
  const auto near = [](const Network& network, CollectiveKind kind, const MoeTraffic& traffic, std::int64_t ranks,
                       double us) {
    EXPECT_NEAR(time_of(network, kind, traffic, ranks).microseconds(), us, 0.12 * us);
  };
  for (const auto& [ranks, sent, back] : {std::tuple(16, 118.0, 195.0), std::tuple(32, 155.0, 273.0),
                                          std::tuple(64, 173.0, 314.0), std::tuple(128, 192.0, 369.0)}) {
    const Network network = cluster("dgx_h800", ranks);
    near(network, dispatch, layer(MoeMode::low_latency), ranks, sent);
    near(network, combine, layer(MoeMode::low_latency), ranks, back);
  }
  for (const auto& [ranks, sent, back] :
       {std::tuple(16, 43.0, 43.0), std::tuple(32, 58.0, 57.0), std::tuple(64, 51.0, 50.0)}) {
    const Network network = cluster("dgx_h800", ranks);
    MoeTraffic traffic = layer(MoeMode::normal, 4096);
    traffic.node_limit = std::min(ranks / 8, 4);
    const double nodes = moe_reach(traffic, ranks, ranks / 8).nodes;
    near(network, dispatch, traffic, ranks,
         4096 * nodes * static_cast<double>(moe_message(traffic, dispatch).count()) / sent / 1e3);
    near(network, combine, traffic, ranks,
         4096 * nodes * static_cast<double>(moe_message(traffic, combine).count()) / back / 1e3);
  }
}

TEST(MoePlan, LibrariesWithoutSuchKernelsSaySo) {
  const Network network = cluster("v100_node", 8);
  try {
    network.planner->plan(call(dispatch, layer(MoeMode::normal)), first_ranks(8));
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.message().c_str(), "the MoE kernels do not run here");
  }
}

TEST(MoePlan, OneRankHasNothingToDo) {
  const Network network = cluster("dgx_h100", 8);
  EXPECT_TRUE(network.planner->plan(call(dispatch, layer(MoeMode::normal)), first_ranks(1)).steps.empty());
}

}  // namespace
}  // namespace warploom
