// SPDX-License-Identifier: Apache-2.0
// Folding: roles cover every device once, communicators are those of the unfolded layout, sizes do not grow with
// devices.
#include "workloads/fold.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace warploom {
namespace {

using D = Dimension;

Layout layout_of(std::int64_t t, std::int64_t p, std::int64_t d, std::vector<Dimension> order = Layout{}.order) {
  Layout layout;
  layout.tensor = t;
  layout.pipeline = p;
  layout.data = d;
  layout.order = std::move(order);
  return layout;
}

std::set<Rank> ranks_of(const std::vector<RankBox>& boxes) {
  std::set<Rank> ranks;
  for (const auto& box : boxes) {
    for (std::int64_t i = 0; i < box.size(); ++i) EXPECT_TRUE(ranks.insert(box.at(i)).second) << "twice: " << box.at(i);
  }
  return ranks;
}

// Every group instance as a list of ranks, with the roles that its communicator names.
std::map<std::vector<Rank>, std::set<std::uint32_t>> instances_of(
    const std::vector<Fold::Communicator>& communicators) {
  std::map<std::vector<Rank>, std::set<std::uint32_t>> all;
  for (const auto& communicator : communicators) {
    for (const Rank start : ranks_of(communicator.group.instances)) {
      std::vector<Rank> members;
      for (std::int64_t i = 0; i < communicator.group.member_count(); ++i)
        members.push_back(communicator.group.rank(start, i));
      const std::set<std::uint32_t> roles(communicator.roles.begin(), communicator.roles.end());
      EXPECT_EQ(roles.size(), communicator.roles.size());
      EXPECT_TRUE(all.emplace(members, roles).second) << "a group twice";
    }
  }
  return all;
}

struct Case {
  Layout layout;
  std::vector<Rank> apart;
};
std::vector<Case> cases() {
  std::vector<Case> all;
  auto order = Layout{}.order;
  do {
    all.push_back({layout_of(4, 3, 5, order), {}});
    all.push_back({layout_of(4, 3, 5, order), {0}});
    all.push_back({layout_of(4, 3, 5, order), {37}});
    all.push_back({layout_of(4, 3, 5, order), {11, 37, 59}});
    all.push_back({layout_of(1, 2, 8, order), {9}});
  } while (std::next_permutation(order.begin(), order.end()));
  return all;
}

TEST(Fold, HasOneRoleAStage) {
  const Fold fold(layout_of(8, 16, 128), {}, false);
  ASSERT_EQ(fold.roles().size(), 16U);
  EXPECT_EQ(fold.roles()[3].name, "stage 3");
  EXPECT_EQ(fold.roles()[3].ranks, (std::vector<RankBox>{{24, {{8, 1}, {128, 128}}}}));
}

TEST(Fold, CoversEveryDeviceOnce) {
  for (const auto& [layout, apart] : cases()) {
    for (const bool unfold : {false, true}) {
      const Fold fold(layout, apart, unfold);
      std::set<Rank> seen;
      for (const auto& role : fold.roles()) {
        for (const Rank rank : ranks_of(role.ranks)) {
          EXPECT_TRUE(seen.insert(rank).second);
          EXPECT_EQ(layout.coordinates(rank)[static_cast<std::size_t>(D::pipeline)], role.stage);
        }
      }
      EXPECT_EQ(static_cast<std::int64_t>(seen.size()), layout.device_count());
      if (unfold) {
        EXPECT_EQ(fold.roles().size(), seen.size());
      }
    }
  }
}

TEST(Fold, GivesAStragglerARoleOfItsOwn) {
  for (const auto& [layout, apart] : cases()) {
    const Fold fold(layout, apart, false);
    for (const Rank rank : apart) {
      const auto alone = std::count_if(fold.roles().begin(), fold.roles().end(), [&](const Fold::Role& role) {
        return ranks_of(role.ranks) == std::set<Rank>{rank};
      });
      EXPECT_EQ(alone, 1) << rank;
    }
  }
}

TEST(Fold, SplitsAStageIntoAtMostFourRolesForOneStragglerWhateverTheDevices) {
  EXPECT_EQ(Fold(layout_of(8, 16, 128), std::vector<Rank>{4321}, false).roles().size(), 64U);
  EXPECT_EQ(Fold(layout_of(8, 16, 8192), std::vector<Rank>{4321}, false).roles().size(), 64U);
  EXPECT_EQ(Fold(layout_of(1, 16, 8192), std::vector<Rank>{4321}, false).roles().size(), 32U);
}

TEST(Fold, HasTheSameGroupsFoldedAndUnfolded) {
  for (const auto& [layout, apart] : cases()) {
    const Fold folded(layout, apart, false);
    const Fold unfolded(layout, {}, true);
    const auto role_of = [&](Rank rank) {
      for (std::uint32_t r = 0; r < folded.roles().size(); ++r) {
        if (ranks_of(folded.roles()[r].ranks).contains(rank)) return r;
      }
      return ~0U;
    };
    const std::vector<std::vector<Dimension>> kinds = {
        {D::tensor}, {D::context, D::data}, {D::tensor, D::pipeline}, {D::tensor, D::context, D::pipeline, D::data}};
    for (const auto& dimensions : kinds) {
      const auto few = instances_of(folded.along(dimensions));
      const auto all = instances_of(unfolded.along(dimensions));
      ASSERT_EQ(few.size(), all.size());
      for (const auto& [members, roles] : few) {
        ASSERT_TRUE(all.contains(members));
        std::set<std::uint32_t> expected;
        for (const Rank rank : members) expected.insert(role_of(rank));
        ASSERT_EQ(roles, expected);
      }
    }
    for (std::int64_t s = 0; s < layout.pipeline; ++s) {
      const std::int64_t to = (s + 1) % layout.pipeline;
      const auto few = instances_of(folded.between(s, to));
      const auto all = instances_of(unfolded.between(s, to));
      ASSERT_EQ(few.size(), static_cast<std::size_t>(layout.tensor * *layout.data));
      for (const auto& [members, roles] : few) {
        ASSERT_TRUE(all.contains(members));
        ASSERT_EQ(members.size(), 2U);
        ASSERT_EQ(roles, (std::set<std::uint32_t>{role_of(members[0]), role_of(members[1])}));
      }
    }
  }
}

TEST(Fold, PutsAllDevicesIntoOneGroupOfOneStride) {
  const Fold fold(layout_of(8, 16, 128), {}, false);
  const auto world = fold.along(std::vector{D::tensor, D::context, D::pipeline, D::data});
  ASSERT_EQ(world.size(), 1U);
  EXPECT_EQ(world[0].group.members, (RankBox{0, {{16384, 1}}}));
  EXPECT_EQ(world[0].roles.size(), 16U);
}

TEST(Fold, LeavesTwoBoxesWhereAStragglerLeavesAHole) {
  const Fold fold(layout_of(1, 1, 8), std::vector<Rank>{3}, false);
  ASSERT_EQ(fold.roles().size(), 2U);
  EXPECT_EQ(fold.roles()[0].ranks, (std::vector<RankBox>{{0, {{3, 1}}}, {4, {{4, 1}}}}));
  EXPECT_EQ(fold.roles()[0].name, "stage 0, data 0-2+4-7");
}

}  // namespace
}  // namespace warploom
