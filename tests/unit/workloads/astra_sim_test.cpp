// SPDX-License-Identifier: Apache-2.0
// ASTRA-sim experiments: what runs when, what meets across ranks and what cannot, and its own samples.
#include <gtest/gtest.h>

#include <map>

#include "tests/support/astra_sim_experiment.hpp"

namespace warploom {
namespace {

using namespace warploom::testing;

// ---- Work ---------------------------------------------------------------------------------------------------------

TEST(AstraSim, ComputeTakesItsRecordedDurationOrTheRoofline) {
  Experiment experiment;
  auto work = compute(1, 7'000);
  work.num_ops = 4'000'000;
  work.tensor_size = 1'000;
  auto copy = compute(2, 7'000, {1});
  copy.num_ops = 1'000;
  copy.tensor_size = 1'000'000;
  for (int i = 0; i < 4; ++i) experiment.rank(i, {work, copy});
  EXPECT_EQ(experiment.cycles(), 14'000);
  experiment.system(R"("roofline-enabled": 1, "peak-perf": 2, "local-mem-bw": 100)");
  EXPECT_EQ(experiment.cycles(), 4'000'000 / 2'000 + 1'000'000 / 100);
}

TEST(AstraSim, KernelsOfOneNpuFollowEachOtherAndThoseOfTheHostDoNotHoldThem) {
  Experiment experiment;
  auto host = compute(3, 9'000);
  host.is_cpu_op = true;
  for (int i = 0; i < 4; ++i) experiment.rank(i, {compute(1, 5'000), compute(2, 6'000), host});
  const auto result = experiment.play();
  EXPECT_EQ(result.makespan.ps() / 1000, 11'000);
  EXPECT_EQ(result.ranks[0].compute.ps() / 1000, 11'000);
  EXPECT_EQ(result.ranks[0].host.ps() / 1000, 9'000);
}

TEST(AstraSim, CommunicationBesideComputeIsNotExposed) {
  Experiment experiment;
  experiment.system(R"("endpoint-delay": 0)");
  experiment.network("Ring", 4, 100, 0);
  // 3 x 1 MiB at 100 GiB/s: 29.3 us.
  for (int i = 0; i < 4; ++i) {
    experiment.rank(i, {collective(1, CommKind::all_gather, 1 << 20), compute(2, 20'000), compute(3, 1'000, {1, 2})});
  }
  const auto result = experiment.play();
  const double gather = 3.0 * (1 << 20) / (100 * gib / 1e9);
  expect_ns((result.ranks[2].communication.ps()) / 1000, gather, 1);
  expect_ns((result.ranks[2].exposed_communication.ps()) / 1000, gather - 20'000, 1);
  EXPECT_EQ(result.ranks[2].waiting, Time::zero());
  expect_ns((result.makespan.ps()) / 1000, gather + 1'000, 1);
}

TEST(AstraSim, AStragglerMakesTheOthersWait) {
  Experiment experiment;
  for (int i = 0; i < 4; ++i) {
    experiment.rank(i, {compute(1, i == 2 ? 50'000 : 10'000), collective(2, CommKind::all_reduce, 1 << 20, {1})});
  }
  const auto result = experiment.play();
  EXPECT_EQ(result.ranks[2].waiting, Time::zero());
  EXPECT_EQ(result.ranks[0].waiting.ps() / 1000, 40'000);
}

TEST(AstraSim, GroupsSideBySideShareLinksOnlyWhereTheyMeet) {
  // {0, 1} and {2, 3} of a ring have links of their own; {0, 2} and {1, 3} cross.
  const auto cycles = [](const std::string& groups, int a, int b) {
    Experiment experiment;
    experiment.system(R"("endpoint-delay": 0)");
    experiment.network("Ring", 4, 100, 0);
    experiment.inputs.comm_group = experiment.write("groups.json", groups);
    for (int i = 0; i < 4; ++i) {
      experiment.group = i == 0 || i == a ? "1" : "2";
      experiment.rank(i, {collective(1, CommKind::all_gather, 1 << 20)});
    }
    (void)b;
    return experiment.cycles();
  };
  const double alone = (1 << 20) / (100 * gib / 1e9);
  expect_ns(cycles(R"({"1": [0, 1], "2": [2, 3]})", 1, 3), alone, 1);
  expect_ns(cycles(R"({"1": [0, 2], "2": [1, 3]})", 2, 3), alone, 1);  // two ways around, half each
}

TEST(AstraSim, GroupZeroIsAGroupAndWithoutANameAllRanksAreMeant) {
  Experiment experiment;
  experiment.inputs.comm_group = experiment.write("groups.json", R"({"0": [0, 1], "1": [2, 3]})");
  for (int i = 0; i < 4; ++i) {
    experiment.group = i < 2 ? "0" : "1";
    experiment.rank(i, {collective(1, CommKind::all_reduce, 1 << 20)});
  }
  const auto of_groups = experiment.cycles();
  for (int i = 0; i < 4; ++i) {
    experiment.group.clear();
    experiment.rank(i, {collective(1, CommKind::all_reduce, 1 << 20)});
  }
  EXPECT_GT(experiment.cycles(), of_groups);
}

TEST(AstraSim, DivergentCollectivesOfSubgroupsEnd) {
  // astra-sim#339: ranks that are in two groups, each with collectives of its own, in different orders.
  Experiment experiment;
  experiment.inputs.comm_group =
      experiment.write("groups.json", R"({"1": [0, 1], "2": [1, 2], "3": [2, 3], "4": [0, 3]})");
  for (int i = 0; i < 4; ++i) {
    ExecutionGraph graph;
    graph.file = "made";
    GraphBuilder builder(graph);
    const std::string groups[4][2] = {{"1", "4"}, {"2", "1"}, {"3", "2"}, {"4", "3"}};
    for (int k = 0; k < 2; ++k) {
      auto node = collective(static_cast<std::uint64_t>(k), CommKind::all_reduce, 1 << 20);
      node.comm.group = graph.texts.add(groups[i][k]);
      builder.add(node);
    }
    builder.finish();
    write_chakra_file(graph, (experiment.folder_ / fmt::format("w.{}.et", i)).string());
  }
  EXPECT_GT(experiment.cycles(), 0);
}

TEST(AstraSim, AMessageTakesItsLatencyAndItsBytes) {
  Experiment experiment;
  experiment.rank(0, {compute(1, 3'000), message(2, true, 1, 1 << 20, {1})});
  experiment.rank(1, {message(1, false, 0, 1 << 20)});
  experiment.rank(2, {});
  experiment.rank(3, {});
  const double there = 3'000 + 500 + (1 << 20) / (100 * gib / 1e9);
  const auto result = experiment.play();
  expect_ns((result.ranks[1].finish.ps()) / 1000, there, 1);
  EXPECT_EQ(result.ranks[1].waiting.ps() / 1000, 3'000);
  EXPECT_EQ(result.ranks[3].finish, Time::zero());
}

TEST(AstraSim, ASendDoesNotWaitForItsReceiveUnlessTold) {
  Experiment experiment;
  experiment.rank(0, {message(1, true, 1, 1 << 10)});
  experiment.rank(1, {compute(1, 90'000), message(2, false, 0, 1 << 10, {1})});
  experiment.rank(2, {});
  experiment.rank(3, {});
  EXPECT_LT(experiment.play().ranks[0].finish.ps() / 1000, 1'000);
  experiment.inputs.rendezvous = true;
  EXPECT_GT(experiment.play().ranks[0].finish.ps() / 1000, 90'000);
}

TEST(AstraSim, PriorityAndPolicyChooseAmongCollectivesThatWait) {
  // Three collectives are reached while the first runs; each ends in a kernel of its own length.
  const auto last_to_end = [](const std::string& policy) {
    Experiment experiment;
    experiment.inputs.system = experiment.write(
        "system.json", fmt::format(R"({{"scheduling-policy": "{}", "collective-optimization": "baseline"}})", policy));
    for (int i = 0; i < 4; ++i) {
      std::vector<GraphNode> nodes = {collective(1, CommKind::all_reduce, 64 << 20)};
      for (std::uint64_t k = 0; k < 3; ++k) {
        nodes.push_back(
            compute(10 + k, 1'000, k == 0 ? std::vector<std::uint64_t>{} : std::vector<std::uint64_t>{9 + k}));
        nodes.push_back(collective(20 + k, CommKind::all_reduce, (8 << 20) + static_cast<std::int64_t>(k), {10 + k}));
        nodes.back().comm.priority = k == 1 ? 9 : 0;
      }
      experiment.rank(i, nodes);
    }
    const auto result = experiment.play();
    std::map<Time, std::int64_t> by_end;
    for (RowId row = 0; row < result.program.size(); ++row) {
      if (result.program.kind[row] != OperationKind::collective || result.program.role_of(row) != 0) continue;
      const auto call = result.program.meetings[result.program.meeting[row]].call;
      by_end[result.timeline.end[row]] = result.program.calls[call].bytes.count() - (8 << 20);
    }
    std::vector<std::int64_t> order;
    for (const auto& [end, which] : by_end) order.push_back(which);
    order.erase(order.begin());
    return order;
  };
  EXPECT_EQ(last_to_end("FIFO"), (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(last_to_end("LIFO"), (std::vector<std::int64_t>{2, 1, 0}));
  EXPECT_EQ(last_to_end("EXPLICIT"), (std::vector<std::int64_t>{1, 0, 2}));
}

TEST(AstraSim, RemoteMemoryIsOnePoolOrOneEach) {
  Experiment experiment;
  GraphNode load;
  load.id = 1;
  load.name = "load";
  load.type = NodeType::mem_load;
  load.tensor_size = 1'000'000;
  for (int i = 0; i < 4; ++i) experiment.rank(i, {load});
  EXPECT_NE(experiment.refusal().find("`load` (node 1) loads or stores remote memory"), std::string::npos);
  const auto with = [&](const char* type) {
    experiment.inputs.remote_memory = experiment.write(
        "memory.json",
        fmt::format(R"({{"memory-type": "{}", "remote-mem-latency": 50, "remote-mem-bw": 100, "num-nodes": 2,
          "num-npus-per-node": 2}})",
                    type));
    return experiment.cycles();
  };
  EXPECT_EQ(with("PER_NPU_MEMORY_EXPANSION"), 50 + 10'000);
  EXPECT_EQ(with("PER_NODE_MEMORY_EXPANSION"), 2 * (50 + 10'000));
  EXPECT_EQ(with("MEMORY_POOL"), 4 * (50 + 10'000));
}

TEST(AstraSim, ReplayOnlyTakesRecordedDurationsOfCommunicationToo) {
  Experiment experiment;
  experiment.system(R"("replay-only": 1)");
  auto node = collective(2, CommKind::all_reduce, 1 << 30, {1});
  node.duration = 12'000;
  for (int i = 0; i < 4; ++i) experiment.rank(i, {compute(1, 5'000), node});
  EXPECT_EQ(experiment.cycles(), 17'000);
}

TEST(AstraSim, SizesBeyond32BitsAreSizes) {
  Experiment experiment;
  experiment.system(R"("endpoint-delay": 0)");
  experiment.network("Ring", 2, 100, 0);
  for (int i = 0; i < 2; ++i) experiment.rank(i, {collective(1, CommKind::all_reduce, std::int64_t{20} << 30)});
  expect_ns((experiment.cycles()), 20.0 / 100 * 1e9, 2);
}

// ---- What cannot be -----------------------------------------------------------------------------------------------

TEST(AstraSimRefusals, ACollectiveThatNotAllCallIsNamed) {
  Experiment experiment;
  for (int i = 0; i < 4; ++i) {
    std::vector<GraphNode> nodes = {collective(1, CommKind::all_reduce, 1024)};
    if (i != 3) nodes.push_back(collective(2, CommKind::all_gather, 4096, {1}));
    experiment.rank(i, nodes);
  }
  const auto text = experiment.refusal();
  EXPECT_NE(text.find("all ranks: collective 2: rank 0 calls `collective` (node 2, all_gather of 4096 bytes), rank 3 "
                      "calls only 1"),
            std::string::npos)
      << text;
}

TEST(AstraSimRefusals, ASendWithoutItsReceiveIsNamed) {
  Experiment experiment;
  experiment.rank(0, {message(1, true, 1, 1024, {}, 5)});
  for (int i = 1; i < 4; ++i) experiment.rank(i, {});
  const auto text = experiment.refusal();
  EXPECT_NE(text.find("rank 0 sends 1 messages of tag 5 to rank 1, which receives 0"), std::string::npos) << text;
}

TEST(AstraSimRefusals, ASizeThatDiffersOnTheTwoSidesIsNamed) {
  Experiment experiment;
  experiment.rank(0, {message(1, true, 1, 1024)});
  experiment.rank(1, {message(7, false, 0, 2048)});
  for (int i = 2; i < 4; ++i) experiment.rank(i, {});
  const auto text = experiment.refusal();
  EXPECT_NE(text.find("1024 bytes"), std::string::npos) << text;
  EXPECT_NE(text.find("2048 bytes"), std::string::npos) << text;
}

TEST(AstraSimRefusals, RanksThatWaitForEachOtherAreListed) {
  Experiment experiment;
  experiment.inputs.rendezvous = true;
  experiment.rank(0, {message(1, false, 1, 1024), message(2, true, 1, 1024, {1})});
  experiment.rank(1, {message(1, false, 0, 1024), message(2, true, 0, 1024, {1})});
  for (int i = 2; i < 4; ++i) experiment.rank(i, {});
  for (const bool rendezvous : {true, false}) {
    experiment.inputs.rendezvous = rendezvous;
    const auto text = experiment.refusal();
    EXPECT_NE(text.find("the run cannot end: 4 of 4 nodes"), std::string::npos) << text;
    EXPECT_NE(text.find("rank 0: `receive` (node 1) waits for rank 1 to send"), std::string::npos) << text;
    EXPECT_NE(text.find("rank 1: `receive` (node 1) waits for rank 0 to send"), std::string::npos) << text;
  }
}

TEST(AstraSimRefusals, FilesThatDoNotFitTheNetworkAreSaid) {
  Experiment experiment;
  experiment.rank(0, {});
  experiment.rank(2, {});
  EXPECT_NE(experiment.refusal().find("w.1.et` is missing"), std::string::npos) << experiment.refusal();
  for (int i = 0; i < 5; ++i) experiment.rank(i, {});
  EXPECT_NE(experiment.refusal().find("5 ranks of the workload, 4 NPUs"), std::string::npos);
}

TEST(AstraSimRefusals, KeysThatNobodyKnowsAreErrorsAndKnownIgnoredOnesNotes) {
  Experiment experiment;
  for (int i = 0; i < 4; ++i) experiment.rank(i, {compute(1, 1'000)});
  experiment.system(R"("boost-mode": 1, "L": 45)");
  bool said = false;
  for (const auto& note : experiment.play().notes) said = said || note.find("`boost-mode`") != std::string::npos;
  EXPECT_TRUE(said);
  experiment.system(R"("preferred-dataset-split": 4)");
  EXPECT_NE(experiment.refusal().find("preferred-dataset-splits"), std::string::npos) << experiment.refusal();
  experiment.system(R"("preferred-dataset-splits": 0)");
  EXPECT_NE(experiment.refusal(), "");
  experiment.system(R"("all-reduce-implementation": ["rings"])");
  EXPECT_NE(experiment.refusal().find("`rings`"), std::string::npos) << experiment.refusal();
}

TEST(AstraSimRefusals, AGroupThatNothingDefinesIsNamed) {
  Experiment experiment;
  experiment.group = "7";
  for (int i = 0; i < 4; ++i) experiment.rank(i, {collective(1, CommKind::all_reduce, 1024)});
  EXPECT_NE(experiment.refusal().find("group `7`, which nothing defines"), std::string::npos) << experiment.refusal();
}

TEST(AstraSim, ZeroBytesAreSaidAndStillMeet) {
  Experiment experiment;
  for (int i = 0; i < 4; ++i) {
    experiment.rank(
        i, {compute(1, i == 0 ? 5'000 : 1'000), collective(2, CommKind::all_reduce, 0, {1}), compute(3, 1'000, {2})});
  }
  const auto result = experiment.play();
  EXPECT_EQ(result.makespan.ps() / 1000, 6'000);
  bool said = false;
  for (const auto& note : result.notes) said = said || note.find("0 bytes") != std::string::npos;
  EXPECT_TRUE(said);
}

// ---- Its own samples ----------------------------------------------------------------------------------------------

class AstraSimSamples : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* data = std::getenv("WARPLOOM_DATA");
    if (data == nullptr) GTEST_SKIP() << "WARPLOOM_DATA is not set";
    folder_ = fs::path(data) / "chakra";
    if (!fs::exists(folder_)) GTEST_SKIP() << folder_ << " is not there";
  }
  fs::path folder_;
  Experiment experiment_;
};

TEST_F(AstraSimSamples, TheServicesExperimentRunsUnchanged) {
  const fs::path base = folder_ / "astra-sim-service/client-scripts/resources";
  AstraSimInputs inputs;
  inputs.system = base / "system.json";
  inputs.network = base / "network.yaml";
  inputs.remote_memory = base / "RemoteMemory.json";
  inputs.comm_group = base / "communicator_group.json";
  inputs.workload = base / "example_workload/workload/all_reduce";
  // One ring of 8 in the first dimension: 14 hops of 128 KiB at 100 GiB/s and 0.005 ns, reductions at 50 GB/s.
  const double hop = 0.005 + 131072 / (100 * gib / 1e9);
  const double r = 3 * std::floor(131072 / 50.0);
  const auto result = play_astra_sim(inputs);
  expect_ns((result.makespan.ps()) / 1000, 14 * hop + 7 * r + 15 * 10, 1);
  inputs.backend = AstraBackend::unaware;
  EXPECT_EQ(play_astra_sim(inputs).makespan.ps() / 1000, 14 * floored(hop) + 7 * static_cast<std::int64_t>(r) + 150);
}

TEST_F(AstraSimSamples, EveryMicrobenchmarkRunsToItsClosedForm) {
  const std::pair<const char*, CommKind> benchmarks[] = {{"all_reduce", CommKind::all_reduce},
                                                         {"all_gather", CommKind::all_gather},
                                                         {"reduce_scatter", CommKind::reduce_scatter},
                                                         {"all_to_all", CommKind::all_to_all}};
  for (const auto& [name, kind] : benchmarks) {
    for (const int n : {4, 8, 16}) {
      Experiment experiment;
      Form form{"Ring", n, kind, 1 << 20, 1};
      set_up(experiment, form, "ring");
      experiment.inputs.workload =
          folder_ / fmt::format("astra-sim/examples/workload/microbenchmarks/{}/{}npus_1MB/{}", name, n, name);
      EXPECT_EQ(experiment.cycles(), ring_cycles(form)) << name << " " << n;
    }
  }
}

TEST_F(AstraSimSamples, ACustomRingTakesWhatItsMessagesAndReductionsTake) {
  Experiment experiment;
  experiment.network("Ring", 8, 50, 500);
  experiment.inputs.system = folder_ / "astra-sim/examples/system/custom_collectives/custom_collective.json";
  experiment.inputs.workload = folder_ / "astra-sim/examples/workload/microbenchmarks/all_reduce/8npus_1MB/all_reduce";
  const double hop = 500 + 131072 / (50 * gib / 1e9);
  const auto result = experiment.play();
  // 14 hops, 7 of them with a reduction of 7 us.
  expect_ns((result.makespan.ps()) / 1000, 14 * hop + 7 * 7'000, 20);
}

TEST_F(AstraSimSamples, AGeneratedTrainingStepRunsInTheRoofline) {
  experiment_.system(R"("roofline-enabled": 1, "peak-perf": 312, "local-mem-bw": 1555)");
  experiment_.network("Switch", 8, 100, 500);
  experiment_.inputs.workload = folder_ / "generated-stage/llama_8gpu_dp2_tp2_pp2_4layers/w";
  const auto result = experiment_.play();
  EXPECT_EQ(result.nodes.at("compute"), 4 * 250 + (result.nodes.at("compute") - 4 * 250));
  EXPECT_EQ(result.ranks.size(), 8U);
  for (const auto& rank : result.ranks) {
    EXPECT_GT(rank.compute, Time::zero());
    EXPECT_GT(rank.communication, Time::zero());
    EXPECT_LE(rank.compute + rank.exposed_communication, rank.finish);
  }
  // Both data-parallel halves do the same.
  EXPECT_EQ(result.ranks[0].finish, result.ranks[2].finish);
}

}  // namespace
}  // namespace warploom
