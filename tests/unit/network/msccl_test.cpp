// SPDX-License-Identifier: Apache-2.0
// MSCCL files: what they say is played, and what cannot work is refused with file and line.
#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "network/collectives.hpp"
#include "network/collectives/msccl_xml.hpp"
#include "network/collectives/rounds/round_algorithms.hpp"
#include "sim/core/errors.hpp"
#include "sim/core/whole_file.hpp"
#include "tests/unit/network/network_fixture.hpp"

namespace warploom {
namespace {

const RoundAlgorithm& mesh() { return round_algorithm(LevelAlgorithm::mesh); }

// Two ranks exchange and add: line 3 to 6 is gpu 0's.
std::string pair_text(const std::string& first_block, const std::string& second_block, const std::string& extra = "") {
  return "<algo name=\"pair\" coll=\"allreduce\" ngpus=\"2\" nchunksperloop=\"1\" inplace=\"1\">\n"
         "<gpu id=\"0\" i_chunks=\"1\" o_chunks=\"0\" s_chunks=\"1\">\n" +
         first_block + "</gpu>\n<gpu id=\"1\" i_chunks=\"1\" o_chunks=\"0\" s_chunks=\"1\">\n" + second_block +
         "</gpu>\n" + extra + "</algo>\n";
}
std::string block(int peer, const std::string& steps) {
  const std::string id = std::to_string(peer);
  return "<tb id=\"0\" send=\"" + id + "\" recv=\"" + id + "\" chan=\"0\">\n" + steps + "</tb>\n";
}
std::string step(int number, const std::string& type, const std::string& source, const std::string& target,
                 const std::string& more = "") {
  return "<step s=\"" + std::to_string(number) + "\" type=\"" + type + "\" srcbuf=\"" + source +
         "\" srcoff=\"0\" dstbuf=\"" + target + "\" dstoff=\"0\" cnt=\"1\" " + more + "/>\n";
}
const std::string exchange = step(0, "s", "i", "i") + step(1, "r", "i", "s") + step(2, "re", "s", "i");

std::string refusal(const std::string& text) {
  try {
    parse_msccl(text, "plan.xml");
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}
void expect_refusal(const std::string& text, const std::string& where, const std::string& what) {
  const std::string got = refusal(text);
  EXPECT_NE(got.find(where), std::string::npos) << got;
  EXPECT_NE(got.find(what), std::string::npos) << got;
}

TEST(Msccl, APairThatExchangesAndAddsIsAnAllReduce) {
  const MscclPlan plan = parse_msccl(pair_text(block(1, exchange), block(0, exchange)), "plan.xml");
  EXPECT_EQ(plan.kind(), CollectiveKind::all_reduce);
  ASSERT_EQ(plan.content().levels.size(), 1U);
  EXPECT_EQ(*plan.content().levels[0].pairs, (std::vector<MemberPair>{{0, 1, 1}, {1, 0, 1}}));
}

TEST(Msccl, EveryScheduleWrittenAsAFileReadsBackWithItsTransfers) {
  for (const auto name : {LevelAlgorithm::ring, LevelAlgorithm::mesh, LevelAlgorithm::halving_doubling,
                          LevelAlgorithm::nhr, LevelAlgorithm::nb}) {
    for (const auto kind : {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter}) {
      for (const int n : {2, 3, 6, 8, 13}) {
        SCOPED_TRACE(std::to_string(static_cast<int>(name)) + " " + std::string(warploom::name(kind)) +
                     std::to_string(n));
        const Schedule schedule = round_algorithm(name).schedule(kind, n);
        const std::string text = msccl_xml(schedule, kind, "test");
        ASSERT_EQ(refusal(text), "");
        const MscclPlan plan = parse_msccl(text, "plan.xml");
        EXPECT_EQ(plan.content().ranks, n);
        using Move = std::tuple<int, int, int>;
        std::multiset<Move> wanted;
        std::multiset<Move> got;
        for (const auto& t : schedule.transfers) wanted.insert({t.from, t.to, t.chunk});
        for (const auto& t : plan.content().schedule.transfers) got.insert({t.from, t.to, t.chunk});
        EXPECT_EQ(got, wanted);
      }
    }
  }
}

TEST(Msccl, TheSampleFileIsWhatTheScheduleOfTheMeshSays) {
  const std::string path = WARPLOOM_SOURCE_DIR "/configs/algorithms/all_pairs_8.xml";
  const std::string text = read_whole_file(path);
  EXPECT_EQ(text, msccl_xml(mesh().schedule(CollectiveKind::all_reduce, 8), CollectiveKind::all_reduce, "all_pairs_8"));
  EXPECT_EQ(load_msccl(path)->content().levels.size(), 2U);  // all parts to their owners, all sums back
}

TEST(Msccl, APlanTakesItsLevels) {
  LibrarySpec library;
  for (auto* protocol : {&library.ll, &library.ll128, &library.simple}) {
    protocol->base = 5_us;
    protocol->hop = 1_us;
    protocol->network_hop = 4_us;
  }
  const auto node = test::topology(test::one_node_text, 8);
  const Planner planner(node, library);
  const MscclPlan ring =
      parse_msccl(msccl_xml(round_algorithm(LevelAlgorithm::ring).schedule(CollectiveKind::all_gather, 8),
                            CollectiveKind::all_gather, "r"),
                  "ring.xml");
  const Call call{CollectiveKind::all_gather, Bytes(800'000'000), DataType::bf16, 0};
  const Group group = test::group({{8, 1}}, {});
  const Plan plan = planner.plan(call, group, ring);
  ASSERT_EQ(plan.steps.size(), 7U);
  Time total = Time::zero();
  for (const PlanStep& step : plan.steps) {
    test::FabricBench bench(node, {group}, {{Time::zero(), step.bundles[0]}});
    total += step.latency + bench.run()[0].time;
  }
  EXPECT_NEAR(total.seconds(), (5_us + 7_us + Bytes(700'000'000) / 450_GBps).seconds(), 1e-9);
  EXPECT_EQ(plan.algorithm, "msccl");
  EXPECT_THROW(planner.plan(call, test::group({{4, 1}}, {}), ring), UserError);
  EXPECT_THROW(planner.plan({CollectiveKind::all_reduce, 1_MB, DataType::bf16, 0}, group, ring), UserError);
  // By file name, as the option `--algo`.
  const std::string path = WARPLOOM_SOURCE_DIR "/configs/algorithms/all_pairs_8.xml";
  const Call reduce{CollectiveKind::all_reduce, 1_MB, DataType::bf16, 0};
  EXPECT_EQ(planner.plan(reduce, group, planner.choose(reduce, group, {path, ""})).algorithm, "msccl");
  EXPECT_THROW(planner.choose(reduce, group, {"there/is/none.xml", ""}), UserError);
}

TEST(Msccl, WhatDoesNotStandInTheFormatIsRefusedWithItsLine) {
  expect_refusal("", "plan.xml", "XML");
  expect_refusal("<algo", "plan.xml:1", "XML");
  expect_refusal("<plan/>", "plan.xml:1", "expected <algo>");
  expect_refusal(pair_text(block(1, exchange), block(0, exchange), "<gpu id=\"1\" i_chunks=\"1\" o_chunks=\"0\"/>\n"),
                 "plan.xml:16", "gpu 1 stands here twice");
  expect_refusal(pair_text(block(1, exchange), block(0, exchange), "<gpu id=\"2\" i_chunks=\"1\" o_chunks=\"0\"/>\n"),
                 "plan.xml:16", "from 0 to 1, got `2`");
  expect_refusal(pair_text(block(7, exchange), block(0, exchange)), "plan.xml:3", "`send` of <tb>");
  expect_refusal(pair_text(block(0, exchange), block(0, exchange)), "plan.xml:3", "its own gpu");
  expect_refusal(pair_text(block(1, exchange) + block(1, exchange), block(0, exchange)), "plan.xml:8",
                 "has tb 0 twice");
  expect_refusal(pair_text(block(1, step(0, "x", "i", "i")), block(0, exchange)), "plan.xml:4", "expected one of s");
  expect_refusal(pair_text(block(1, step(1, "s", "i", "i")), block(0, exchange)), "plan.xml:4", "expected 0, got 1");
  expect_refusal(pair_text(block(1, "<step s=\"0\" type=\"s\" srcbuf=\"i\" srcoff=\"1\" cnt=\"1\"/>\n"), ""),
                 "plan.xml:4", "outside the 1 chunks of buffer `i` of gpu 0");
}

TEST(Msccl, ASendThatNobodyReceivesIsNamed) {
  expect_refusal(pair_text(block(1, exchange), block(0, step(0, "s", "i", "i"))), "plan.xml:4",
                 "gpu 0, tb 0, step 0 sends to gpu 1 on channel 0, which never receives it");
}

TEST(Msccl, ADeadlockIsNamedStepByStep) {
  const std::string waits_first = step(0, "r", "i", "s") + step(1, "s", "i", "i") + step(2, "re", "s", "i");
  expect_refusal(pair_text(block(1, waits_first), block(0, waits_first)),
                 "plan.xml:", "this plan deadlocks: gpu 0, tb 0, step 0 (line 4), which waits for gpu 1, tb 0, step 1");
}

TEST(Msccl, ARankWithoutItsDataIsNamed) {
  const std::string keeps = step(0, "s", "i", "i") + step(1, "r", "i", "s");
  expect_refusal(pair_text(block(1, exchange), block(0, keeps)), "plan.xml:9",
                 "rank 1 holds chunk 0 without the contribution of rank 0");
  const std::string twice = exchange + step(3, "re", "s", "i");
  expect_refusal(pair_text(block(1, twice), block(0, exchange)), "plan.xml:7", "adds a contribution to chunk 0 twice");
  const std::string nothing = step(0, "s", "s", "i") + step(1, "r", "i", "s");
  expect_refusal(pair_text(block(1, nothing), block(0, exchange)), "plan.xml:4", "holds nothing");
}

}  // namespace
}  // namespace warploom
