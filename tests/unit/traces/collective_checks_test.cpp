// SPDX-License-Identifier: Apache-2.0
// Collectives that cannot be as recorded are named, keep their time, and are refused where reading is strict.
#include "traces/collective_checks.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "sim/core/errors.hpp"
#include "tests/support/hand_capture.hpp"
#include "traces/collective_names.hpp"

namespace warploom {
namespace {

using testing::HandCapture;
using testing::us;

// Two ranks that call three all-reduces of 1,024 elements.
std::vector<HandCapture> two_ranks() {
  std::vector<HandCapture> ranks;
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    auto& hand = ranks.emplace_back(rank);
    hand.capture.world_size = 2;
    for (int i = 0; i < 3; ++i) {
      hand.all_reduce((100 + 200 * i) * us, 50 * us);
      hand.record("allreduce", 1024, "BFloat16", {0, 1});
    }
  }
  return ranks;
}

CapturedRun understood(std::vector<HandCapture>& ranks, bool strict = false) {
  ReadTraces read;
  for (auto& hand : ranks) {
    hand.capture.repairs = Repairs(hand.capture.file, strict);
    read.captures.push_back(hand.take());
  }
  return understand(std::move(read));
}

struct Case {
  const char* name;
  std::int64_t count;     // of repairs
  std::int64_t doubtful;  // collectives
  std::function<void(std::vector<HandCapture>&)> spoil;
};

class Impossible : public ::testing::TestWithParam<Case> {};

TEST_P(Impossible, IsNamedCountedAndKeepsItsTime) {
  auto ranks = two_ranks();
  GetParam().spoil(ranks);
  const CapturedRun run = understood(ranks);
  EXPECT_EQ(run.repairs.count(GetParam().name), GetParam().count);
  for (const auto& repair : run.repairs.all()) EXPECT_FALSE(repair.first.empty()) << repair.name;
  std::int64_t doubtful = 0;
  for (const auto& collective : run.matching.collectives) doubtful += collective.is_doubtful ? 1 : 0;
  EXPECT_EQ(doubtful, GetParam().doubtful);
  EXPECT_EQ(run.self.error, 0);
}

TEST_P(Impossible, IsRefusedWhereReadingIsStrict) {
  auto ranks = two_ranks();
  GetParam().spoil(ranks);
  try {
    understood(ranks, true);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find(GetParam().name), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("rank"), std::string::npos) << error.what();
  }
}

CollectiveRecord& record(std::vector<HandCapture>& ranks, std::size_t rank, std::size_t place) {
  return ranks[rank].capture.collectives[place];
}
ProcessGroup& group(std::vector<HandCapture>& ranks, std::size_t rank, std::size_t place) {
  return ranks[rank].capture.groups[place];
}

INSTANTIATE_TEST_SUITE_P(
    Records, Impossible,
    ::testing::Values(Case{"impossible_element_count", 1, 1, [](auto& ranks) { record(ranks, 0, 1).in_elements = -2; }},
                      Case{"impossible_element_count", 2, 1,
                           [](auto& ranks) {
                             for (std::size_t i : {0, 1}) record(ranks, i, 1).in_elements = std::int64_t{1} << 50;
                           }},
                      Case{"unknown_element_type", 1, 1,
                           [](auto& ranks) { record(ranks, 1, 2).type = ranks[1].capture.texts.add("Quaternion"); }},
                      Case{"repeated_rank_in_group", 2, 1,
                           [](auto& ranks) {
                             for (std::size_t i : {0, 1}) group(ranks, i, 0) = {"1", "twice", 2, {1, 1}};
                           }},
                      Case{"group_size_mismatch", 2, 1,
                           [](auto& ranks) {
                             for (std::size_t i : {0, 1}) group(ranks, i, 0).size = 4;
                           }},
                      Case{"rank_outside_world", 2, 1,
                           [](auto& ranks) {
                             for (std::size_t i : {0, 1}) group(ranks, i, 0).ranks = {0, 7};
                           }},
                      Case{"rank_outside_group", 1, 1,
                           [](auto& ranks) {
                             for (auto& hand : ranks) hand.capture.world_size = 4;
                             for (std::size_t i : {0, 1}) group(ranks, i, 0).ranks = {0, 3};
                           }},
                      Case{"disagreeing_collective", 1, 1, [](auto& ranks) { record(ranks, 1, 0).in_elements = 2048; }},
                      Case{"disagreeing_collective", 1, 1,
                           [](auto& ranks) { record(ranks, 1, 0).type = ranks[1].capture.texts.add("Float"); }},
                      // From where they call different ones, nobody knows what belongs together: two each.
                      Case{"disagreeing_collective", 4, 4,
                           [](auto& ranks) { record(ranks, 1, 1).name = ranks[1].capture.texts.add("broadcast"); }},
                      Case{"unmatched_collective", 1, 0, [](auto& ranks) { ranks[1].capture.device_ops.pop_back(); }},
                      Case{"bad_rank", 1, 0,
                           [](auto& ranks) {
                             ranks[1].capture.rank = 5;
                             for (auto& hand : ranks) hand.capture.groups = std::vector<ProcessGroup>(3);
                           }}),
    [](const auto& info) { return std::string(info.param.name) + std::to_string(info.index); });

TEST(CollectiveChecks, FindNothingWhereAllAgree) {
  auto ranks = two_ranks();
  const CapturedRun run = understood(ranks, true);
  EXPECT_TRUE(run.repairs.all().empty());
  EXPECT_EQ(run.matching.matched, 3);
}

TEST(CollectiveChecks, ListsOfTheSameRanksInAnotherOrderAreOneGroup) {
  auto ranks = two_ranks();
  for (auto& listed : ranks[1].capture.groups) listed.ranks = {1, 0};
  const CapturedRun run = understood(ranks, true);
  EXPECT_EQ(run.matching.matched, 3);
  for (const auto& collective : run.matching.collectives) EXPECT_TRUE(collective.is_complete);
}

// A single rank of several is no mistake: `doubts` says what its collectives are worth.
TEST(CollectiveChecks, LetARankWithoutItsPeersBe) {
  auto ranks = two_ranks();
  ranks.pop_back();
  EXPECT_TRUE(understood(ranks, true).repairs.all().empty());
}

TEST(CollectiveChecks, SayThatACountIsNoNumber) {
  auto ranks = two_ranks();
  record(ranks, 0, 1).in_elements = record(ranks, 0, 1).out_elements = no_such_count;
  const CapturedRun run = understood(ranks);
  ASSERT_EQ(run.repairs.count("impossible_element_count"), 1);
  EXPECT_EQ(run.repairs.all()[0].first.find("device operation 1, `allreduce` of a count that is no whole number of 64 "
                                            "bits BFloat16"),
            0U)
      << run.repairs.all()[0].first;
}

TEST(Doubts, NameRanksOfDifferentSteps) {
  auto ranks = two_ranks();
  for (std::size_t rank : {0, 1}) {
    Annotation step;
    step.start = 0;
    step.duration = 1000 * us;
    step.name = ranks[rank].capture.texts.add("ProfilerStep#" + std::to_string(5 + rank));
    step.thread = 0;
    ranks[rank].capture.annotations.push_back(step);
  }
  const auto sentences = doubts(understood(ranks));
  ASSERT_FALSE(sentences.empty());
  EXPECT_EQ(sentences.front(), "ranks from different steps: rank 0 holds step 5; rank 1 holds step 6");
}

}  // namespace
}  // namespace warploom
