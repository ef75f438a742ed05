// SPDX-License-Identifier: Apache-2.0
// What the user wishes and what a library chooses by itself: NCCL's lists, HCCL's levels and costs.
#include <gtest/gtest.h>

#include "network/collectives.hpp"
#include "network/collectives/rank_list.hpp"
#include "network/collectives/round_plan.hpp"
#include "network/collectives/wishes.hpp"
#include "sim/core/errors.hpp"
#include "sim/core/library.hpp"
#include "tests/unit/network/network_fixture.hpp"

namespace warploom {
namespace {

TEST(Wishes, AreReadAsNcclReadsThem) {
  const auto known = algorithm_names();
  const Wishes wishes("allreduce:Tree,RING;allgather:^nvls;nvlstree", known);
  EXPECT_TRUE(wishes.allows(CollectiveKind::all_reduce, "tree"));
  EXPECT_TRUE(wishes.allows(CollectiveKind::all_reduce, "ring"));
  EXPECT_FALSE(wishes.allows(CollectiveKind::all_reduce, "nvls_tree"));
  EXPECT_FALSE(wishes.allows(CollectiveKind::all_gather, "nvls"));
  EXPECT_TRUE(wishes.allows(CollectiveKind::all_gather, "ring"));
  EXPECT_FALSE(wishes.asks_for(CollectiveKind::all_gather, "ring"));  // merely left over
  EXPECT_TRUE(wishes.asks_for(CollectiveKind::broadcast, "nvls_tree"));
  EXPECT_FALSE(wishes.allows(CollectiveKind::broadcast, "ring"));
  EXPECT_TRUE(Wishes("auto", known).is_free(CollectiveKind::all_reduce));
  EXPECT_TRUE(Wishes("", known).allows(CollectiveKind::all_reduce, "tree"));
}

TEST(Wishes, WhatIsNotKnownIsNamed) {
  for (const std::string text : {"rings", "allreduce:trees", "allreducing:tree", "^", "ring,", "ring;;allreduce:"}) {
    EXPECT_THROW(Wishes(text, algorithm_names()), UserError) << text;
  }
}

LibrarySpec library_of(const std::string& name) {
  const Library library({WARPLOOM_SOURCE_DIR "/configs"});
  const auto value = load_config(WARPLOOM_SOURCE_DIR "/configs/libraries/" + name + ".yaml", {}, library);
  Diagnostics diagnostics;
  auto spec = read<LibrarySpec>(value, diagnostics);
  diagnostics.throw_if_any();
  return spec;
}

// 8 devices of 196 GB/s a server, as many outside.
const std::string ascend_text =
    "kind: fat_tree\nnode: {gpus: 8, nvlink: {links: 7, rate: 28 GB/s}}\nnic: {count: 8, rate: 196 GB/s}\n"
    "tiers: [{name: leaf, of: 64}]\n";

TEST(Nccl, TakesWhatIsWishedWhereItIsThere) {
  LibrarySpec library = library_of("nccl_hopper");
  const auto chosen = [&](const std::string& wishes, CollectiveKind kind, Bytes bytes) {
    library.algorithm = wishes;
    const Planner planner(test::topology(test::one_node_text, 8), library);
    return planner.plan({kind, bytes, DataType::bf16, 0}, test::group({{8, 1}}, {})).algorithm;
  };
  EXPECT_EQ(chosen("auto", CollectiveKind::all_reduce, 1_GB), "nvls");
  EXPECT_EQ(chosen("^nvls", CollectiveKind::all_reduce, 1_GB), "ring");
  EXPECT_EQ(chosen("allreduce:tree,ring", CollectiveKind::all_reduce, 1_GB), "ring");
  EXPECT_EQ(chosen("allreduce:tree", CollectiveKind::all_reduce, 1_GB), "tree");
  EXPECT_EQ(chosen("allreduce:tree", CollectiveKind::all_gather, 1_GB), "ring");
  EXPECT_EQ(chosen("allreduce:halving_doubling", CollectiveKind::all_reduce, 1_GB), "halving_doubling");
}

TEST(Hccl, AServerIsAMesh) {
  const Planner planner(test::topology(ascend_text, 64), library_of("hccl"));
  const Bytes bytes(800'000'000);
  const auto rate = 196_GBps * 0.7;
  const Plan plan = planner.plan({CollectiveKind::all_reduce, bytes, DataType::bf16, 0}, test::group({{8, 1}}, {}));
  EXPECT_EQ(plan.algorithm, "mesh");
  // 2 alpha + 2 n beta / p on each of the 7 links that make the port.
  EXPECT_NEAR(time_alone(plan).seconds(), (10_us + 1_us + Bytes(1'400'000'000) / rate).seconds(), 1e-9);
}

TEST(Hccl, BetweenServersTheLeastCostIsTaken) {
  const LibrarySpec library = library_of("hccl");
  const Planner planner(test::topology(ascend_text, 512), library);
  const auto rate = 196_GBps * 0.7;
  const Time hop = Time::picoseconds(5'500'000);
  for (const std::int64_t servers : {2, 3, 4, 7, 8, 48}) {
    for (const Bytes bytes : {8_kB, 1_MB, 800_MB}) {
      const Group group = test::group({{8 * servers, 1}}, {});
      const Call call{CollectiveKind::all_reduce, bytes, DataType::bf16, 0};
      std::int64_t rounds = 0;
      while ((std::int64_t{1} << rounds) < servers) ++rounds;
      const double inside = 2 * (0.5e-6) + 2.0 * 7 / 8 * static_cast<double>(bytes.count()) / rate.value();
      const double moved = 2.0 * static_cast<double>(servers - 1) / static_cast<double>(servers) *
                           static_cast<double>(bytes.count()) / 8 / rate.value();
      const double nhr = 10e-6 + inside + 2 * hop.seconds() * static_cast<double>(rounds) + moved;
      const double ring = 10e-6 + inside + 2 * hop.seconds() * static_cast<double>(servers - 1) + moved;
      for (const auto& option : planner.options(call, group)) {
        if (!option.is_offered) continue;
        if (option.algorithm == Algorithm::nhr) {
          EXPECT_NEAR(option.library_estimate.seconds(), nhr, nhr * 0.01 + 1e-6);
        }
        if (option.algorithm == Algorithm::ring) {
          EXPECT_NEAR(option.library_estimate.seconds(), ring, ring * 0.01 + 1e-6);
        }
        EXPECT_NE(option.algorithm, Algorithm::mesh);
      }
      const Plan plan = planner.plan(call, group);
      for (const auto& option : planner.options(call, group)) {
        if (option.is_offered) {
          EXPECT_LE(time_alone(plan), option.library_estimate);
        }
      }
      EXPECT_NE(plan.protocol, "ll");
    }
  }
  EXPECT_EQ(planner.plan({CollectiveKind::all_to_all, 1_MB, DataType::bf16, 0}, test::group({{64, 1}}, {})).algorithm,
            "pairwise");
  EXPECT_EQ(planner.plan({CollectiveKind::all_to_all, 1_MB, DataType::bf16, 0}, test::group({{8, 1}}, {})).algorithm,
            "mesh");
  EXPECT_EQ(planner.plan({CollectiveKind::broadcast, 1_MB, DataType::bf16, 0}, test::group({{8, 1}}, {})).protocol,
            "simple");
}

TEST(Libraries, AFamilyThatIsNotThereIsNamed) {
  const auto value = parse_config_text(
      "name: x\nfamily: rccl\nll: {base: 0 us, hop: 0 us, network_hop: 0 us}\n"
      "ll128: {base: 0 us, hop: 0 us, network_hop: 0 us}\nsimple: {base: 0 us, hop: 0 us, network_hop: 0 us}\n",
      "x.yaml");
  Diagnostics diagnostics;
  read<LibrarySpec>(value, diagnostics);
  EXPECT_EQ(diagnostics.error_count(), 1U);
}

TEST(Groups, ARankThatIsNotThereOrComesTwiceIsNamed) {
  const Planner planner(test::topology(test::one_node_text, 8), library_of("nccl_hopper"));
  const Call call{CollectiveKind::all_reduce, 1_MB, DataType::bf16, 0};
  const auto refusal = [&](const Group& group) {
    try {
      planner.plan(call, group);
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(refusal(test::group({{9, 1}}, {})).find("there is no rank 8"), std::string::npos);
  EXPECT_NE(refusal(test::group({{4, 1}, {2, 3}}, {})).find("rank 3 is in the group twice, as members 3 and 4"),
            std::string::npos);
  EXPECT_NE(refusal(test::group({{4, 0}}, {})).find("rank 0 is in the group twice"), std::string::npos);
  EXPECT_EQ(refusal(test::group({{4, -2}}, {}, 7)), "");
}

TEST(Groups, AListOfRanksIsAGroupIfItIsRegular) {
  const std::vector<Rank> nodes{0, 1, 2, 3, 16, 17, 18, 19};
  const Group group = group_of_ranks(nodes);
  ASSERT_EQ(group.member_count(), 8);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    EXPECT_EQ(group.rank(group.instances[0].base, static_cast<std::int64_t>(i)), nodes[i]);
  EXPECT_EQ(group_of_ranks(std::vector<Rank>{7, 5, 3}).rank(7, 2), 3);
  EXPECT_EQ(group_of_ranks(std::vector<Rank>{5}).member_count(), 1);
  EXPECT_THROW(group_of_ranks(std::vector<Rank>{0, 1, 3}), UserError);
  EXPECT_THROW(group_of_ranks(std::vector<Rank>{0, 1, 0}), UserError);
  EXPECT_THROW(group_of_ranks(std::vector<Rank>{}), UserError);
}

}  // namespace
}  // namespace warploom
