// SPDX-License-Identifier: Apache-2.0
// Captured runs in other forms: what is written is read back and says the same.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

#include "sim/core/errors.hpp"
#include "tests/support/perfetto_reader.hpp"
#include "traces/chakra_reader.hpp"
#include "traces/chakra_writer.hpp"
#include "traces/convert.hpp"
#include "traces/convert_chakra.hpp"
#include "traces/convert_timeline.hpp"

namespace warploom {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::string data_file(const std::string& name) {
  const char* data = std::getenv("WARPLOOM_DATA");
  return data == nullptr ? std::string() : (fs::path(data) / "traces" / name).string();
}

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("warploom-convert-" + std::to_string(::getpid()))) {
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(file(name), std::ios::binary) << content;
    return file(name);
  }

 private:
  fs::path path_;
};

CapturedRun again(const ChakraExport& written, const Folder& folder) {
  std::vector<std::string> files;
  for (const auto& graph : written.graphs) {
    files.push_back(folder.file("again." + std::to_string(*graph.rank) + ".et"));
    write_chakra_file(graph, files.back());
  }
  return understand(files);
}

// From the first to the last work of any device.
Nanoseconds makespan(const CapturedRun& run) {
  Nanoseconds first = std::numeric_limits<Nanoseconds>::max();
  Nanoseconds last = 0;
  for (std::size_t rank = 0; rank < run.self.ranks.size(); ++rank) {
    first = std::min(first, run.self.ranks[rank].replayed.begin - run.captured.origin[rank]);
    last = std::max(last, run.self.ranks[rank].replayed.end - run.captured.origin[rank]);
  }
  return last - first;
}

double difference(const CapturedRun& a, const CapturedRun& b) {
  return std::abs(static_cast<double>(makespan(a) - makespan(b))) / static_cast<double>(makespan(a));
}

// What a simulator without gaps makes of the files: folded durations, one node after another on each stream and
// thread, collectives of a group in order. The last end of work of a device, by rank.
std::vector<Nanoseconds> play_folded(const std::vector<ExecutionGraph>& graphs) {
  using Lane = std::pair<bool, std::int64_t>;
  struct Rank {
    std::size_t next = 0;
    std::vector<Nanoseconds> ends;
    std::map<Lane, Nanoseconds> lanes;
    std::map<std::string, std::size_t> met;
    Nanoseconds last = 0;
  };
  std::vector<Rank> ranks(graphs.size());
  std::map<std::pair<std::string, std::size_t>, std::vector<Nanoseconds>> arrived;
  bool moved = true;
  while (moved) {
    moved = false;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      auto& rank = ranks[r];
      const auto& graph = graphs[r];
      for (; rank.next < graph.size(); ++rank.next, moved = true) {
        const auto node = static_cast<ExecutionGraph::Index>(rank.next);
        auto& lane = rank.lanes[{graph.is_cpu_op[node], graph.stream[node]}];
        Nanoseconds start = lane;
        for (const auto before : graph.data(node)) start = std::max(start, rank.ends[before]);
        if (graph.type[node] == NodeType::collective) {
          const auto& comm = graph.comms[graph.comm[node]];
          const std::string group(graph.texts[comm.group]);
          auto& starts = arrived[{group, rank.met[group]}];
          if (starts.size() != ranks.size()) starts.assign(ranks.size(), -1);
          starts[r] = start;
          if (std::any_of(starts.begin(), starts.end(), [](Nanoseconds at) { return at < 0; })) break;
          ++rank.met[group];
          start = *std::max_element(starts.begin(), starts.end());
        }
        lane = start + graph.folded_duration[node];
        rank.ends.push_back(lane);
        if (!graph.is_cpu_op[node]) rank.last = std::max(rank.last, lane);
      }
    }
  }
  std::vector<Nanoseconds> last;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    EXPECT_EQ(ranks[r].next, graphs[r].size()) << "rank " << r << " waits for ever";
    last.push_back(ranks[r].last);
  }
  return last;
}

// Two ranks: a copy, two kernels that overlap on their stream, an all-reduce for which rank 0 waits 30 us, a wait of
// the host. The second rank comes `late` us later.
std::string rank_trace(int rank, int late) {
  const auto event = [](const char* category, const char* name, int tid, double ts, double duration,
                        const std::string& arguments) {
    return fmt::format(R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": {}, "tid": {}, "ts": {:.3f}, "dur": {:.3f}, )"
                       R"("args": {{{}}}}},)",
                       category, name, std::string_view(category).starts_with("cuda_") ? 9 : 0, tid, ts, duration,
                       arguments);
  };
  const auto device = [](int stream, int correlation, const char* more = "") {
    return fmt::format(R"("device": 0, "stream": {}, "correlation": {}{})", stream, correlation, more);
  };
  const auto call = [](int correlation) { return fmt::format(R"("correlation": {})", correlation); };
  std::string text = fmt::format(
      R"({{"distributedInfo": {{"rank": {}, "world_size": 2}}, "baseTimeNanoseconds": 1000, "traceEvents": [)", rank);
  text += event("cuda_runtime", "cudaMemcpyAsync", 9, 100, 4, call(1));
  text += event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 7, 110, 10, device(7, 1, R"(, "bytes": 4096)"));
  text += event("cuda_runtime", "cudaLaunchKernel", 9, 105, 4, call(2));
  text += event("kernel", "gemm<1, \\\"a\\\">", 7, 121, 30, device(7, 2));
  text += event("cuda_runtime", "cudaLaunchKernel", 9, 110, 4, call(3));
  text += event("kernel", "norm_kernel", 7, 150, 10 + late, device(7, 3));
  text += event("cuda_runtime", "cudaLaunchKernel", 9, 115, 4, call(4));
  text += event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 20, 161 + late, 70 - late,
                device(20, 4, R"(, "Collective name": "allreduce", "In msg nelems": 1000, "Out msg nelems": 1000,
      "Group size": 2, "dtype": "Float", "Process Group Name": "0", "Process Group Description": "tp",
      "Process Group Ranks": "[0, 1]")"));
  text += event("cuda_runtime", "cudaStreamSynchronize", 9, 120, 115, call(5));
  text.back() = ']';
  return text + "}";
}

std::vector<std::string> two_ranks(const Folder& folder) {
  return {folder.write("rank0.json", rank_trace(0, 0)), folder.write("rank1.json", rank_trace(1, 30))};
}

ExecutionGraph::Index find_node(const ExecutionGraph& graph, std::string_view name) {
  for (ExecutionGraph::Index node = 0; node < graph.size(); ++node) {
    if (graph.texts[graph.name[node]].starts_with(name)) return node;
  }
  ADD_FAILURE() << "no node " << name;
  return 0;
}

TEST(ConvertChakra, ACollectiveTakesWhatItsLastMemberNeeded) {
  const Folder folder;
  const auto written = export_chakra(understand(two_ranks(folder)));
  ASSERT_EQ(written.graphs.size(), 2U);
  // Rank 0 took 70 us, 30 of them waiting: that is recorded, and not for a simulator.
  EXPECT_EQ(written.graphs[0].duration[find_node(written.graphs[0], "nccl")], 70'000);
  for (const auto& graph : written.graphs) {
    const auto node = find_node(graph, "nccl");
    EXPECT_EQ(graph.type[node], NodeType::collective);
    EXPECT_EQ(graph.folded_duration[node], 40'000);
    EXPECT_FALSE(graph.is_cpu_op[node]);
    EXPECT_EQ(graph.stream[node], 20);
    const NodeComm& comm = graph.comms[graph.comm[node]];
    EXPECT_EQ(comm.kind, CommKind::all_reduce);
    EXPECT_EQ(comm.bytes, 4000);
    EXPECT_EQ(comm.group, nothing);  // all ranks: no name, so that ASTRA-sim takes its network's dimensions
    EXPECT_TRUE(comm.is_involved_said);
  }
  EXPECT_TRUE(written.groups.empty());
}

TEST(ConvertChakra, NodesWaitForLaunchStreamAndDevice) {
  const Folder folder;
  const auto written = export_chakra(understand(two_ranks(folder)));
  const auto& graph = written.graphs[0];
  const auto gemm = find_node(graph, "gemm");
  const auto copy = find_node(graph, "Memcpy");
  std::vector<std::string> before;
  for (const auto node : graph.data(gemm)) before.emplace_back(graph.texts[graph.name[node]]);
  EXPECT_THAT(before, ::testing::UnorderedElementsAre("cudaLaunchKernel", "Memcpy HtoD (Pinned -> Device)"));
  EXPECT_EQ(graph.tensor_size[copy], 4096);
  EXPECT_EQ(graph.duration[gemm], 30'000);
  EXPECT_EQ(graph.start[gemm] - graph.start[copy], 11'000);
  const auto last = static_cast<ExecutionGraph::Index>(graph.size() - 1);
  EXPECT_EQ(graph.texts[graph.name[last]], "cudaStreamSynchronize");
  EXPECT_THAT(graph.data(last), ::testing::Contains(find_node(graph, "nccl")));
}

TEST(ConvertChakra, GroupsOfSomeRanksAreNumberedFromOne) {
  const Folder folder;
  std::vector<std::string> files;
  for (int rank = 0; rank < 4; ++rank) {
    std::string text = rank_trace(rank, 0);
    if (rank >= 2) text.replace(text.find("[0, 1]"), 6, "[2, 3]");
    files.push_back(folder.write(fmt::format("rank{}.json", rank), text));
  }
  const auto written = export_chakra(understand(files));
  EXPECT_EQ(written.groups, "{\n  \"1\": [0, 1],\n  \"2\": [2, 3]\n}\n");
  ASSERT_EQ(written.graphs.size(), 4U);
  const auto& graph = written.graphs[3];
  EXPECT_EQ(graph.texts[graph.comms[graph.comm[find_node(graph, "nccl")]].group], "2");
  // The groups travel in the files as well.
  const CapturedRun back = again(written, folder);
  ASSERT_EQ(back.captures[3].groups.size(), 2U);
  EXPECT_EQ(back.captures[3].groups[1].description, "tp");
  EXPECT_EQ(back.matching.matched, 2);
}

TEST(ConvertChakra, ReadBackItReplaysAsTheCaptureDoes) {
  const Folder folder;
  const CapturedRun run = understand(two_ranks(folder));
  const CapturedRun back = again(export_chakra(run), folder);
  ASSERT_EQ(back.captures.size(), 2U);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(back.captures[rank].device_ops.size(), run.captures[rank].device_ops.size());
    EXPECT_EQ(back.captures[rank].resolution, 1000);  // whole microseconds: no finer than those of the capture
    EXPECT_EQ(back.self.ranks[rank].replayed.length(), run.self.ranks[rank].replayed.length());
  }
  EXPECT_LT(difference(run, back), 1e-3);
}

TEST(ConvertChakra, TheJsonFormIsTheSameGraph) {
  const Folder folder;
  const auto written = export_chakra(understand(two_ranks(folder)));
  std::ostringstream text;
  write_chakra_json(written.graphs[1], text);
  const auto back = read_chakra_alone(std::vector{folder.write("form.1.json", text.str())});
  ASSERT_EQ(back.size(), 1U);
  const auto& graph = written.graphs[1];
  EXPECT_EQ(back[0].rank, 1);
  EXPECT_EQ(back[0].id, graph.id);
  EXPECT_EQ(back[0].type, graph.type);
  EXPECT_EQ(back[0].start, graph.start);
  EXPECT_EQ(back[0].duration, graph.duration);
  EXPECT_EQ(back[0].stream, graph.stream);
  EXPECT_EQ(back[0].data_dependency, graph.data_dependency);
  EXPECT_EQ(back[0].is_cpu_op, graph.is_cpu_op);
  const auto node = find_node(graph, "nccl");
  EXPECT_EQ(back[0].comms[back[0].comm[node]].bytes, 4000);
  EXPECT_EQ(back[0].comms[back[0].comm[node]].kind, CommKind::all_reduce);
}

TEST(ConvertChakra, WrittenAnewItIsTheSameFile) {
  const Folder folder;
  const auto written = export_chakra(understand(two_ranks(folder)));
  std::ostringstream first;
  write_chakra(written.graphs[0], first);
  const auto back = read_chakra_alone(std::vector{folder.write("same.0.et", first.str())});
  ASSERT_EQ(back.size(), 1U);
  EXPECT_EQ(back[0].folded_duration, written.graphs[0].folded_duration);
  std::ostringstream second;
  write_chakra(back[0], second);
  EXPECT_TRUE(first.str() == second.str());
}

TEST(ConvertChakra, OtherTracesAmongThemAreNotChakraAlone) {
  const Folder folder;
  const auto files = two_ranks(folder);
  EXPECT_TRUE(read_chakra_alone(files).empty());
}

TEST(ConvertTimeline, EveryEventIsASliceAndSlicesNest) {
  const Folder folder;
  const auto read = read_traces(two_ranks(folder));
  std::ostringstream out;
  write_capture_timeline(read.captures, out);
  const auto trace = testing::TraceReader::read(out.str(), true);  // throws where slices of a track cross
  EXPECT_EQ(trace.processes.size(), 2U);
  std::multiset<std::tuple<std::string, std::uint64_t, std::uint64_t>> drawn;
  for (const auto& slice : trace.slices) drawn.emplace(slice.name, slice.begin, slice.end);
  std::multiset<std::tuple<std::string, std::uint64_t, std::uint64_t>> recorded;
  const auto add = [&](const Capture& capture, const auto& item) {
    const Nanoseconds zero = 100'000;  // the first call
    recorded.emplace(capture.texts[item.name], item.start - zero, item.end() - zero);
  };
  for (const auto& capture : read.captures) {
    for (const auto& op : capture.device_ops) add(capture, op);
    for (const auto& call : capture.calls) add(capture, call);
  }
  EXPECT_EQ(drawn, recorded);
  EXPECT_EQ(trace.arrows.size(), 8U);  // four launches a rank
  std::multiset<std::string> tracks;
  for (const auto& [track, name] : trace.threads) tracks.insert(name);
  EXPECT_EQ(tracks.count("device 0, stream 7 (2)"), 2U);  // the two kernels that overlap
}

TEST(ConvertTimeline, ACaptureAndItsReplayStandApartInOneFile) {
  const Folder folder;
  const CapturedRun run = understand(two_ranks(folder));
  std::ostringstream out;
  write_capture_timeline(run.captures, run.captured.origin, out, {1, ", captured"});
  write_perfetto(run.captured.program, run.timeline, out, {2, ", replayed"});
  const auto trace = testing::TraceReader::read(out.str(), true);  // throws where tracks or arrows meet
  std::set<std::string> processes;
  for (const auto& [track, name] : trace.processes) processes.insert(name);
  EXPECT_EQ(processes,
            (std::set<std::string>{"rank 0, captured", "rank 1, captured", "rank 0, replayed", "rank 1, replayed"}));
  // Both from the same zero, the program's.
  std::multiset<std::uint64_t> captured;
  std::multiset<std::uint64_t> replayed;
  for (const auto& slice : trace.slices) {
    if (slice.name.find("gemm") == std::string::npos) continue;
    const auto& process = trace.processes.at(trace.parents.at(slice.track));
    (process.ends_with("captured") ? captured : replayed).insert(slice.begin);
  }
  EXPECT_EQ(captured, (std::multiset<std::uint64_t>{21'000, 21'000}));  // 121 us, from the first call on
  std::multiset<std::uint64_t> played;
  for (std::size_t rank = 0; rank < run.captures.size(); ++rank) {
    for (std::size_t i = 0; i < run.captures[rank].device_ops.size(); ++i) {
      if (run.captures[rank].device_ops[i].op_class != OpClass::gemm) continue;
      const RowId row = run.captured.row_of_op[rank][i];
      played.insert(static_cast<std::uint64_t>(run.timeline.begin[row].ps() / 1000));
    }
  }
  EXPECT_EQ(replayed, played);
}

TEST(ConvertTimeline, WhatBeganBeforeZeroIsCutOff) {
  const Folder folder;
  auto read = read_traces(std::vector{folder.write("rank0.json", rank_trace(0, 0))});
  const Nanoseconds zero = read.captures[0].calls[0].start + 1;
  const std::vector<Nanoseconds> zeros = {zero};
  std::ostringstream out;
  write_capture_timeline(read.captures, zeros, out, {});
  const auto trace = testing::TraceReader::read(out.str(), true);
  for (const auto& slice : trace.slices) EXPECT_LT(slice.end, std::uint64_t{1} << 40U);
  EXPECT_EQ(trace.slices.size(), read.captures[0].calls.size() + read.captures[0].device_ops.size());
}

TEST(ConvertTable, ALineAnOperationQuotedAsRfc4180Says) {
  const Folder folder;
  const auto read = read_traces(std::vector{folder.write("rank0.json", rank_trace(0, 0))});
  std::ostringstream out;
  write_capture_csv(read.captures, out);
  const std::string text = out.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5);
  EXPECT_THAT(text,
              HasSubstr("\r\n0,0,7,copy,copy,Memcpy HtoD (Pinned -> Device),111000,10000,101000,1,4096,,,,,,,\r\n"));
  EXPECT_THAT(text, HasSubstr("0,0,7,kernel,gemm,\"gemm<1, \"\"a\"\">\",122000,30000,106000,2,,,,,,,,\r\n"));
  EXPECT_THAT(text, HasSubstr(",communication,ncclDevKernel_AllReduce_Sum_f32_RING_LL,162000,70000,116000,4,,allreduce,"
                              "0,1000,1000,Float,,\r\n"));
}

class ConvertOracle : public ::testing::TestWithParam<const char*> {};

TEST_P(ConvertOracle, AsChakraItReplaysInTheSameTime) {
  const std::string path = data_file(GetParam());
  if (path.empty()) GTEST_SKIP() << "WARPLOOM_DATA is not set";
  const Folder folder;
  const CapturedRun run = understand(std::vector<std::string>{path});
  const auto written = export_chakra(run);
  const CapturedRun back = again(written, folder);
  EXPECT_LT(difference(run, back), 1e-3);
  ASSERT_EQ(back.self.ranks.size(), run.self.ranks.size());
  for (std::size_t rank = 0; rank < run.self.ranks.size(); ++rank) {
    const auto replayed = static_cast<double>(run.self.ranks[rank].replayed.length());
    EXPECT_NEAR(static_cast<double>(back.self.ranks[rank].replayed.length()), replayed, 1e-3 * replayed);
  }
  // Without all kinds and sizes collectives are compute nodes, which do not wait for each other.
  for (const auto& note : written.notes) {
    if (note.find("do not say what they move") != std::string::npos) return;
  }
  const auto folded = play_folded(written.graphs);
  for (std::size_t rank = 0; rank < folded.size(); ++rank) {
    const auto end = static_cast<double>(run.self.ranks[rank].replayed.end - run.captured.origin[rank]);
    EXPECT_NEAR(static_cast<double>(folded[rank]), end, 1e-3 * end) << "folded, rank " << rank;
  }
}

TEST_P(ConvertOracle, AsATimelineItHasEveryEvent) {
  const std::string path = data_file(GetParam());
  if (path.empty()) GTEST_SKIP() << "WARPLOOM_DATA is not set";
  const auto read = read_traces(std::vector<std::string>{path});
  std::ostringstream out;
  write_capture_timeline(read.captures, out);
  const auto trace = testing::TraceReader::read(out.str(), true);  // throws where slices of a track cross
  std::size_t events = 0;
  for (const auto& capture : read.captures) {
    events += capture.device_ops.size() + capture.calls.size() + capture.host_ops.size() + capture.annotations.size();
  }
  EXPECT_EQ(trace.slices.size(), events);
  EXPECT_EQ(trace.processes.size(), read.captures.size());
}

INSTANTIATE_TEST_SUITE_P(OfRealRuns, ConvertOracle,
                         ::testing::Values("astra_history/megatron-tp8", "hta/nccl_parser_config/nccl_data.json.gz",
                                           "param/dlrm_kineto.tar.gz"),
                         [](const auto& test) {
                           const std::string_view name = test.param;
                           return name.starts_with("astra") ? "Megatron" : name.starts_with("hta") ? "Nccl2" : "Dlrm";
                         });

}  // namespace
}  // namespace warploom
