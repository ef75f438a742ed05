// SPDX-License-Identifier: Apache-2.0
// ASTRA-sim experiments: closed forms of its back ends, links that are shared, what meets across ranks and what cannot.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include "sim/core/errors.hpp"
#include "traces/chakra_writer.hpp"
#include "workloads/astra_sim/play.hpp"

namespace warploom {
namespace {

namespace fs = std::filesystem;

void expect_ns(auto actual, auto expected, auto within) {
  EXPECT_NEAR(static_cast<double>(actual), static_cast<double>(expected), static_cast<double>(within));
}

// An experiment of its own folder.
class Experiment {
 public:
  Experiment() {
    std::string pattern = (fs::temp_directory_path() / "astra_XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    inputs.system = write("system.json", R"({"scheduling-policy": "FIFO", "collective-optimization": "baseline"})");
    inputs.network =
        write("network.yml", "topology: [ Ring ]\nnpus_count: [ 4 ]\nbandwidth: [ 100 ]\nlatency: [ 500 ]\n");
    inputs.workload = (folder_ / "w").string();
  }
  Experiment(const Experiment&) = delete;
  Experiment& operator=(const Experiment&) = delete;
  ~Experiment() { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    const fs::path path = folder_ / name;
    std::ofstream(path) << text;
    return path.string();
  }
  void system(const std::string& keys) {
    inputs.system =
        write("system.json", R"({"scheduling-policy": "FIFO", "collective-optimization": "baseline", )" + keys + "}");
  }
  void network(const std::string& block, int npus, double bandwidth = 100, double latency = 500) {
    inputs.network =
        write("network.yml", fmt::format("topology: [ {} ]\nnpus_count: [ {} ]\nbandwidth: [ {} ]\nlatency: [ {} ]\n",
                                         block, npus, bandwidth, latency));
  }
  void rank(int number, const std::vector<GraphNode>& nodes, const std::string& prefix = "w") {
    ExecutionGraph graph;
    graph.file = "made";
    GraphBuilder builder(graph);
    for (GraphNode node : nodes) {
      if (!group.empty() && node.type == NodeType::collective) node.comm.group = graph.texts.add(group);
      builder.add(node);
    }
    builder.finish();
    write_chakra_file(graph, (folder_ / fmt::format("{}.{}.et", prefix, number)).string());
  }
  AstraSimResult play() const { return play_astra_sim(inputs); }
  std::int64_t cycles() const { return play().makespan.ps() / 1000; }
  std::string refusal() const {
    try {
      play();
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  }

  AstraSimInputs inputs;
  std::string group;  // of the collectives of ranks written from now on
  fs::path folder_;
};

GraphNode compute(std::uint64_t id, Nanoseconds duration, std::vector<std::uint64_t> data = {}) {
  GraphNode node;
  node.id = id;
  node.name = "compute";
  node.type = NodeType::compute;
  node.duration = duration;
  node.data = std::move(data);
  return node;
}
GraphNode collective(std::uint64_t id, CommKind kind, std::int64_t bytes, std::vector<std::uint64_t> data = {}) {
  GraphNode node;
  node.id = id;
  node.name = std::string_view("collective");
  node.type = NodeType::collective;
  node.has_comm = true;
  node.comm.kind = kind;
  node.comm.bytes = bytes;
  node.data = std::move(data);
  return node;
}
GraphNode message(std::uint64_t id, bool is_send, int peer, std::int64_t bytes, std::vector<std::uint64_t> data = {},
                  int tag = 0) {
  GraphNode node;
  node.id = id;
  node.name = is_send ? "send" : "receive";
  node.type = is_send ? NodeType::send : NodeType::receive;
  node.has_comm = true;
  (is_send ? node.comm.target : node.comm.source) = peer;
  node.comm.bytes = bytes;
  node.comm.tag = tag;
  node.data = std::move(data);
  return node;
}

// ---- Closed forms -------------------------------------------------------------------------------------------------

constexpr double gib = 1073741824.0;

struct Form {
  const char* block;
  int n;
  CommKind kind;
  std::int64_t bytes;
  std::int64_t splits;
  double bandwidth = 100;
  double latency = 500;
  double memory = 50;
  std::int64_t e = 10;
  bool aware = false;
};

std::int64_t floored(double value) { return static_cast<std::int64_t>(std::floor(value)); }

// shared/facts: exact in 384 of 384 runs of the original for ring, 271 of 272 for direct.
std::int64_t ring_cycles(const Form& f) {
  const double wire_rate = f.bandwidth * gib / 1e9;
  const std::int64_t c = f.bytes / f.splits;
  const std::int64_t m = f.kind == CommKind::all_gather ? c : c / f.n;
  const double wire = static_cast<double>(m) / wire_rate;
  const std::int64_t hop = floored(f.latency + wire);
  const bool is_switch = std::string_view(f.block) == "Switch";
  const std::int64_t step = !is_switch ? hop : f.aware ? 2 * hop : floored(2 * f.latency + wire);
  const std::int64_t r = 3 * floored(static_cast<double>(m) / f.memory);
  const std::int64_t k = f.kind == CommKind::all_reduce   ? 2 * (f.n - 1)
                         : f.kind == CommKind::all_to_all ? f.n * (f.n - 1) / 2
                                                          : f.n - 1;
  const std::int64_t reductions = f.kind == CommKind::all_reduce || f.kind == CommKind::reduce_scatter ? f.n - 1 : 0;
  return f.splits * (k * step + reductions * r + (k + 1) * f.e);
}

std::int64_t direct_cycles(const Form& f) {
  const double wire_rate = f.bandwidth * gib / 1e9;
  const std::int64_t c = f.bytes / f.splits;
  const std::int64_t m = f.kind == CommKind::all_gather ? c : c / f.n;
  const double wire = static_cast<double>(m) / wire_rate;
  const std::int64_t hop = floored(f.latency + wire);
  const std::string_view block = f.block;
  std::int64_t step = hop;
  if (block == "Switch") step = f.aware ? (f.n - 2) * floored(wire) + 2 * hop : floored(2 * f.latency + wire);
  if (block == "Ring") step = floored(f.n / 2 * f.latency + wire);
  const std::int64_t r = 3 * floored(static_cast<double>(m) / f.memory);
  if (f.kind == CommKind::all_reduce) return f.splits * (2 * step + r + 3 * f.e);
  if (f.kind == CommKind::reduce_scatter) return f.splits * (step + r + 2 * f.e);
  return f.splits * (step + 2 * f.e);
}

void set_up(Experiment& experiment, const Form& form, const std::string& algorithm) {
  experiment.system(fmt::format(
      R"("preferred-dataset-splits": {}, "local-mem-bw": {}, "endpoint-delay": {},
         "all-reduce-implementation": ["{}"], "all-gather-implementation": ["{}"],
         "reduce-scatter-implementation": ["{}"], "all-to-all-implementation": ["{}"])",
      form.splits, form.memory, form.e, algorithm, algorithm, algorithm, algorithm));
  experiment.network(form.block, form.n, form.bandwidth, form.latency);
  for (int i = 0; i < form.n; ++i) experiment.rank(i, {collective(0, form.kind, form.bytes)});
  experiment.inputs.backend = form.aware ? AstraBackend::aware : AstraBackend::unaware;
}

constexpr CommKind kinds[] = {CommKind::all_reduce, CommKind::all_gather, CommKind::reduce_scatter,
                              CommKind::all_to_all};

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

class AstraSimSamples : public testing::Test {
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
