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

TEST(Msccl, UnknownAttributesAndOddOnesAreRefusedWithTheirElement) {
  const std::string good = pair_text(block(1, exchange), block(0, exchange));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  EXPECT_EQ(refusal(with("<algo ", "<algo nchannels=\"2\" nthreads=\"256\" redop=\"nop\" outofplace=\"1\" ")), "");
  expect_refusal(with("name=\"pair\" ", ""), "plan.xml:1", "<algo> has no `name`");
  expect_refusal(with("<algo ", "<algo channels=\"1\" "), "plan.xml:1", "<algo> has no attribute `channels`");
  expect_refusal(with("<algo ", "<algo nchannels=\"two\" "), "plan.xml:1", "`nchannels` of <algo>");
  expect_refusal(with("<algo ", "<algo nchannels=\"0\" "), "plan.xml:1", "`nchannels` of <algo>");
  expect_refusal(with("<algo ", "<algo minBytes=\"2\" maxBytes=\"1\" "), "plan.xml:1", "above its `maxBytes`");
  expect_refusal(with("<algo ", "<algo minBytes=\"1k\" "), "plan.xml:1", "expected a number of bytes, got `1k`");
  expect_refusal(with("<gpu ", "<gpu rank=\"0\" "), "plan.xml:2", "<gpu> has no attribute `rank`");
  expect_refusal(with("<tb ", "<tb channel=\"0\" "), "plan.xml:3", "<tb> has no attribute `channel`");
  expect_refusal(with("<step ", "<step count=\"1\" "), "plan.xml:4", "<step> has no attribute `count`");
  expect_refusal(with("dstbuf=\"i\"", "dstbuf=\"q\""), "plan.xml:4", "`dstbuf` of <step>");
  expect_refusal(with("dstoff=\"0\"", "dstoff=\"-2\""), "plan.xml:4", "`dstoff` of <step>");
  std::string far = with("<algo ", "<algo nchannels=\"1\" ");
  far.replace(far.find("chan=\"0\""), 8, "chan=\"1\"");
  expect_refusal(far, "plan.xml:3", "tb 0 of gpu 0 is on channel 1 of 1");
}

TEST(Msccl, AThreadblockSendsAtItsOwnPace) {
  LibrarySpec library;
  for (auto* protocol : {&library.ll, &library.ll128, &library.simple}) {
    protocol->base = Time::zero();
    protocol->hop = Time::zero();
    protocol->network_hop = Time::zero();
  }
  library.peer.simple.channel_rate = 10_GBps;
  const auto node = test::topology(test::one_node_text, 8);
  const Planner planner(node, library);
  const Group group = test::group({{2, 1}}, {});
  const Call call{CollectiveKind::all_reduce, 1_GB, DataType::bf16, 0};
  const auto alone = [&](const MscclPlan& file) {
    const Plan plan = planner.plan(call, group, file);
    Time total = Time::zero();
    for (const PlanStep& step : plan.steps) {
      test::FabricBench bench(node, {group}, {{Time::zero(), step.bundles[0]}});
      total += step.latency + bench.run()[0].time;
    }
    return total;
  };
  // One block sends all and receives all; two share both directions.
  const MscclPlan one = parse_msccl(pair_text(block(1, exchange), block(0, exchange)), "plan.xml");
  EXPECT_NEAR(alone(one).seconds(), (1_GB / 10_GBps * 2).seconds(), 1e-9);
  const auto apart = [](int peer) {
    const std::string id = std::to_string(peer);
    return "<tb id=\"0\" send=\"" + id + "\" recv=\"-1\" chan=\"0\">\n" + step(0, "s", "i", "i") + "</tb>\n" +
           "<tb id=\"1\" send=\"-1\" recv=\"" + id + "\" chan=\"0\">\n" + step(0, "r", "i", "s") +
           step(1, "re", "s", "i", "depid=\"0\" deps=\"0\"") + "</tb>\n";
  };
  const MscclPlan two = parse_msccl(pair_text(apart(1), apart(0)), "plan.xml");
  EXPECT_NEAR(alone(two).seconds(), (1_GB / 10_GBps).seconds(), 1e-9);
}

TEST(Msccl, AFileIsForTheSizesThatItSays) {
  std::string text = pair_text(block(1, exchange), block(0, exchange));
  text.replace(0, 6, "<algo minBytes=\"1000\" maxBytes=\"2000\" ");
  const MscclPlan plan = parse_msccl(text, "plan.xml");
  const Planner planner(test::topology(test::one_node_text, 8), LibrarySpec());
  const Group group = test::group({{2, 1}}, {});
  const auto call = [](std::int64_t bytes) {
    return Call{CollectiveKind::all_reduce, Bytes(bytes), DataType::bf16, 0};
  };
  EXPECT_NO_THROW(planner.plan(call(1000), group, plan));
  EXPECT_THROW(planner.plan(call(999), group, plan), UserError);
  EXPECT_THROW(planner.plan(call(2001), group, plan), UserError);
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
