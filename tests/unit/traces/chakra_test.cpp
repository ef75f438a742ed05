// SPDX-License-Identifier: Apache-2.0
// Chakra traces: what is read of them, by which writer, what is mended and what refused; counts of real files.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <numeric>
#include <sstream>

#include "sim/core/errors.hpp"
#include "traces/chakra_capture.hpp"
#include "traces/chakra_reader.hpp"
#include "traces/chakra_writer.hpp"

namespace warploom {
namespace {

namespace fs = std::filesystem;
using Index = ExecutionGraph::Index;

ExecutionGraph read(const std::string& bytes, bool strict = false) {
  ReadOptions options;
  options.strict = strict;
  return read_execution_graph(*bytes_of("trace", bytes), options);
}

std::string written(const ExecutionGraph& graph) {
  std::ostringstream out;
  write_chakra(graph, out);
  return out.str();
}

GraphNode node(std::uint64_t id, std::string_view name, NodeType type, std::vector<std::uint64_t> data = {}) {
  GraphNode made;
  made.id = id;
  made.name = name;
  made.type = type;
  made.data = std::move(data);
  made.has_comm = type >= NodeType::send;
  return made;
}

ExecutionGraph graph_of(const std::vector<GraphNode>& nodes) {
  ExecutionGraph graph;
  graph.file = "made";
  graph.repairs = Repairs("made");
  GraphBuilder builder(graph);
  for (const auto& one : nodes) builder.add(one);
  builder.finish();
  return graph;
}

std::string message_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7U) bytes += static_cast<char>(value | 128U);
  return bytes + static_cast<char>(value);
}
std::string number(std::uint32_t field, std::uint64_t value) { return varint(field << 3U) + varint(value); }
std::string bytes(std::uint32_t field, const std::string& content) {
  return varint(field << 3U | 2U) + varint(content.size()) + content;
}
std::string framed(const std::string& message) { return varint(message.size()) + message; }
std::string attribute(const std::string& name, const std::string& value) { return bytes(10, bytes(1, name) + value); }
const std::string metadata = framed(bytes(1, "0.0.4"));

TEST(Chakra, WhatIsWrittenReadsBackTheSame) {
  std::vector<GraphNode> nodes = {node(0, "load", NodeType::mem_load), node(7, "gemm", NodeType::compute, {0}),
                                  node(3, "reduce", NodeType::collective, {7, 0}),
                                  node(9, "to 1", NodeType::send, {3})};
  nodes[0].tensor_size = 1 << 20;
  nodes[1].duration = 12'345;
  nodes[1].start = 1'000'007;
  nodes[1].num_ops = 1'000'000'000'000;
  nodes[1].stream = 7;
  nodes[1].control = {0};
  nodes[2].comm = {.bytes = 5'000'000'000, .priority = 3, .involved = 5, .kind = CommKind::all_reduce};
  nodes[2].comm.is_involved_said = true;
  nodes[3].comm = {.bytes = 0, .target = 1, .tag = -4};
  nodes[3].is_cpu_op = true;
  ExecutionGraph graph = graph_of(nodes);
  graph.schema = "1.0.2-chakra.0.0.4";
  graph.comms[0].group = graph.texts.add("12");

  const ExecutionGraph again = read(written(graph));
  EXPECT_EQ(again.schema, graph.schema);
  EXPECT_EQ(again.id, graph.id);
  EXPECT_EQ(again.type, graph.type);
  EXPECT_EQ(again.is_cpu_op, graph.is_cpu_op);
  EXPECT_EQ(again.start, graph.start);
  EXPECT_EQ(again.duration, graph.duration);
  EXPECT_EQ(again.stream, graph.stream);
  EXPECT_EQ(again.num_ops, graph.num_ops);
  EXPECT_EQ(again.tensor_size, graph.tensor_size);
  EXPECT_EQ(again.data_begin, graph.data_begin);
  EXPECT_EQ(again.data_dependency, graph.data_dependency);
  EXPECT_EQ(again.control_dependency, graph.control_dependency);
  ASSERT_EQ(again.comms.size(), 2U);
  EXPECT_EQ(again.comms[0].bytes, 5'000'000'000);
  EXPECT_EQ(again.comms[0].priority, 3U);
  EXPECT_EQ(again.comms[0].involved & 0xFFU, 5U);
  EXPECT_EQ(again.texts[again.comms[0].group], "12");
  EXPECT_EQ(again.comms[1].target, 1);
  EXPECT_EQ(again.comms[1].tag, -4);
  for (Index i = 0; i < 4; ++i) EXPECT_EQ(again.texts[again.name[i]], graph.texts[graph.name[i]]);
  EXPECT_EQ(written(again), written(graph));
}

TEST(Chakra, AMissingIdIsZero) {
  const auto graph = read(metadata + framed(bytes(2, "a") + number(3, 4)) + framed(number(1, 1) + bytes(5, varint(0))));
  EXPECT_EQ(graph.id[0], 0U);
  EXPECT_EQ(graph.data(1)[0], 0U);
}

TEST(Chakra, WholeNumbersAreTakenFromAnyType) {
  const std::map<std::string, std::string> spellings = {
      {"int32", number(7, 1024)},
      {"int64", number(9, 1024)},
      {"uint32", number(11, 1024)},
      {"uint64", number(13, 1024)},
      {"sint32", number(15, 2048)},
      {"sint64", number(17, 2048)},
      {"fixed32", varint(19U << 3U | 5U) + std::string("\0\x04\0\0", 4)},
      {"fixed64", varint(21U << 3U | 1U) + std::string("\0\x04\0\0\0\0\0\0", 8)},
      {"sfixed32", varint(23U << 3U | 5U) + std::string("\0\x04\0\0", 4)},
      {"sfixed64", varint(25U << 3U | 1U) + std::string("\0\x04\0\0\0\0\0\0", 8)},
      {"float", varint(5U << 3U | 5U) + std::string("\0\0\x80\x44", 4)},
      {"double", varint(3U << 3U | 1U) + std::string("\0\0\0\0\0\0\x90\x40", 8)},
      {"text", bytes(29, "1024")},
      {"text with a fraction of nothing", bytes(29, "1024.0")},
  };
  for (const auto& [type, value] : spellings) {
    const auto graph = read(metadata + framed(number(3, 7) + attribute("comm_size", value)));
    EXPECT_EQ(graph.comms.at(0).bytes, 1024) << type;
  }
  const auto graph = read(metadata + framed(number(3, 7) + attribute("is_cpu_op", number(7, 1))));
  EXPECT_TRUE(graph.is_cpu_op[0]);
}

TEST(Chakra, ASizeThatDoesNotFitIsRefusedNotWrapped) {
  const auto bytes_of_trace = metadata + framed(number(3, 7) + attribute("comm_size", number(13, UINT64_MAX)));
  EXPECT_NE(message_of([&] { read(bytes_of_trace); }).find("`comm_size` does not fit"), std::string::npos);
}

TEST(Chakra, UnpackedAndPackedIdsAreTheSame) {
  const std::string nodes = framed(number(1, 1)) + framed(number(1, 2));
  const auto packed = read(metadata + nodes + framed(number(1, 3) + bytes(5, varint(1) + varint(2))));
  const auto loose = read(metadata + nodes + framed(number(1, 3) + number(5, 1) + number(5, 2)));
  EXPECT_EQ(packed.data_dependency, (std::vector<Index>{0, 1}));
  EXPECT_EQ(packed.data_dependency, loose.data_dependency);
}

TEST(Chakra, ATruncatedLastNodeIsDroppedAndCounted) {
  const std::string whole =
      metadata + framed(number(1, 1) + bytes(2, "first")) + framed(number(1, 2) + bytes(2, "second"));
  for (std::size_t cut = 1; cut < 11; ++cut) {
    const auto part = whole.substr(0, whole.size() - cut);
    const auto graph = read(part);
    EXPECT_EQ(graph.size(), 1U);
    EXPECT_TRUE(graph.is_truncated);
    EXPECT_EQ(graph.repairs.count("truncated_last_node"), 1);
    EXPECT_THROW(read(part, true), UserError);
  }
}

TEST(Chakra, NoPrefixOfATraceCrashes) {
  const auto whole = written(graph_of({node(1, "a", NodeType::compute), node(2, "b", NodeType::collective, {1})}));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    try {
      read(whole.substr(0, length));
    } catch (const UserError&) {
    }
  }
}

TEST(Chakra, AHostileLengthIsRefusedBeforeMemoryIsTaken) {
  EXPECT_NE(message_of([] { read(metadata + varint(std::uint64_t{1} << 40U) + "x"); }).find("a message of"),
            std::string::npos);
  EXPECT_NE(message_of([] { read(metadata + framed(varint(2U << 3U | 2U) + varint(1000) + "x")); }).find("longer"),
            std::string::npos);
}

TEST(Chakra, TwoNodesOfOneIdAreRefusedByName) {
  const auto message = message_of([] { graph_of({node(4, "a", NodeType::compute), node(4, "b", NodeType::compute)}); });
  EXPECT_NE(message.find("`a`"), std::string::npos);
  EXPECT_NE(message.find("`b`"), std::string::npos);
}

TEST(Chakra, AnUnknownSchemaIsRefusedNamingTheKnown) {
  const auto with = [](const std::string& schema) {
    return framed(bytes(2, bytes(1, "schema") + bytes(29, schema))) + framed(number(1, 1));
  };
  for (const char* known : {"1.0.1", "1.0.2-chakra.0.0.4", "1.0.3-chakra.0.0.4", "1.1.0-chakra.0.0.4",
                            "1.1.1-chakra.0.0.4", "1.1.1-chakra.1.0.0", "symbolic_tensor_network"}) {
    EXPECT_EQ(read(with(known)).schema, known);
  }
  EXPECT_NE(message_of([&] { read(with("7.0")); }).find("1.0.x and 1.1.x"), std::string::npos);
}

TEST(Chakra, ACycleOfDataIsPrintedByName) {
  const auto graph = graph_of({node(1, "a", NodeType::compute, {3}), node(2, "b", NodeType::compute, {1}),
                               node(3, "c", NodeType::compute, {2}), node(4, "d", NodeType::compute, {3})});
  const auto message = message_of([&] { topological_order(graph); });
  for (const char* name : {"`a` (node 1)", "`b` (node 2)", "`c` (node 3)", "3 nodes"}) {
    EXPECT_NE(message.find(name), std::string::npos) << message;
  }
  EXPECT_EQ(message.find("`d`"), std::string::npos);
}

TEST(Chakra, ControlDependenciesThatDangleOrCloseCirclesOrderNothing) {
  auto nodes = std::vector{node(1, "a", NodeType::compute), node(2, "b", NodeType::compute)};
  nodes[0].control = {2, 1, 77};
  nodes[1].control = {1, 78, 78};
  const auto graph = graph_of(nodes);
  EXPECT_EQ(topological_order(graph), (std::vector<Index>{0, 1}));
  EXPECT_EQ(graph.repairs.count("dangling_control_dependency"), 3);
  EXPECT_EQ(graph.repairs.count("self_control_dependency"), 1);
  EXPECT_EQ(graph.found.dangling_control_ids, 2);
}

TEST(Chakra, NodesOfAStreamFollowEachOtherUnlessTheyDoAlready) {
  auto nodes = std::vector{node(1, "a", NodeType::compute), node(2, "b", NodeType::compute, {1}),
                           node(3, "other", NodeType::compute), node(4, "c", NodeType::compute)};
  for (auto& one : nodes) one.stream = 7;
  nodes[2].stream = 8;
  const auto graph = graph_of(nodes);
  const auto edges = stream_edges(graph, topological_order(graph));
  EXPECT_EQ(edges, (std::vector<std::pair<Index, Index>>{{1, 3}}));
}

TEST(Chakra, TheJsonFormSaysTheSame) {
  const auto graph = read(R"({"workload_name": "w", "workload_graph": [
    {"Id": 216, "Name": "a", "NodeType": 4, "ctrlDeps": [3], "data_deps": [], "runtime": 318, "is_cpu_op": true},
    {"Id": 217, "Name": "b", "NodeType": "COMM_COLL_NODE", "data_deps": [216], "runtime": 28.125, "comm_type": 2,
     "comm_size": "4096", "pg_name": "1", "is_cpu_op": false}]})");
  ASSERT_EQ(graph.size(), 2U);
  EXPECT_EQ(graph.duration, (std::vector<Nanoseconds>{318'000, 28'125}));
  EXPECT_TRUE(graph.is_cpu_op[0]);
  EXPECT_EQ(graph.comms[graph.comm[1]].bytes, 4096);
  EXPECT_EQ(graph.comms[graph.comm[1]].kind, CommKind::all_gather);
  EXPECT_EQ(graph.texts[graph.comms[graph.comm[1]].group], "1");
  EXPECT_EQ(graph.found.dangling_control, 1);
}

TEST(Chakra, BrokenJsonIsRefusedByNode) {
  const auto message = message_of([] { read(R"({"workload_graph": [{"Id": 1}, {"Id": "x"}]})"); });
  EXPECT_NE(message.find("node number 2"), std::string::npos) << message;
  EXPECT_THROW(read(R"({"workload_graph": [{"Id": 1})"), UserError);
  EXPECT_THROW(read(R"({"workload_graph": 3})"), UserError);
}

TEST(Chakra, IsToldFromOtherFormatsByContent) {
  EXPECT_TRUE(is_chakra(written(graph_of({node(1, "a", NodeType::compute)}))));
  EXPECT_FALSE(is_chakra("{\"traceEvents\": []}"));
  EXPECT_FALSE(is_chakra("SQLite format 3"));
  EXPECT_FALSE(is_chakra(""));
  EXPECT_FALSE(is_chakra(std::string(600, '\0')));
  EXPECT_TRUE(is_chakra_json(" {\"workload_graph\": []}"));
  EXPECT_FALSE(is_chakra_json("{\"traceEvents\": [\"workload_graph\"]}"));
}

TEST(Chakra, GroupsOfAMetadataNodeAreRead) {
  const std::string values = R"(["[{"pg_name": "0", "ranks": []}, {"pg_name": "3", "ranks": [1, 5]}]"])";
  const auto graph = read(metadata + framed(number(3, 1) + bytes(8, bytes(1, values))));
  ASSERT_EQ(graph.groups.size(), 2U);
  EXPECT_TRUE(graph.groups[0].ranks.empty());
  EXPECT_EQ(graph.groups[1].ranks, (std::vector<std::int64_t>{1, 5}));
}

TEST(Chakra, AsACaptureNodesStartWhenTheirDependenciesAndStreamsLetThem) {
  auto nodes = std::vector{node(1, "host", NodeType::compute), node(2, "a", NodeType::compute, {1}),
                           node(3, "b", NodeType::compute), node(4, "c", NodeType::collective, {2})};
  nodes[0].is_cpu_op = true;
  nodes[0].duration = 3'000;
  for (std::size_t i = 1; i < 4; ++i) {
    nodes[i].duration = 10'000;
    nodes[i].stream = i == 3 ? 9 : 7;
  }
  nodes[3].comm = {.bytes = 4096, .kind = CommKind::all_gather};
  const Capture capture = capture_of(graph_of(nodes));
  ASSERT_EQ(capture.device_ops.size(), 3U);
  EXPECT_EQ(capture.host_ops.size(), 1U);
  EXPECT_EQ(capture.device_ops[0].start, 3'000);   // after the host
  EXPECT_EQ(capture.device_ops[1].start, 13'000);  // after it on the stream
  EXPECT_EQ(capture.device_ops[2].start, 13'000);  // after what it depends on
  ASSERT_EQ(capture.device_edges.size(), 1U);
  EXPECT_EQ(capture.device_edges[0].from, 0U);
  EXPECT_EQ(capture.device_edges[0].to, 2U);
  EXPECT_EQ(capture.device_ops[0].host_op, 0U);
  EXPECT_EQ(capture.texts[capture.collectives[capture.device_ops[2].collective].name], "all_gather");
  EXPECT_EQ(capture.collectives[0].in_elements, 4096);
}

TEST(Chakra, AsACaptureRecordedStartsAreKept) {
  auto one = node(1, "a", NodeType::compute);
  one.start = 77;
  one.duration = 5;
  const Capture capture = capture_of(graph_of({one}));
  EXPECT_EQ(capture.device_ops[0].start, 77);
  EXPECT_EQ(capture.facts.count("times"), 0U);
}

// ---- Real files ---------------------------------------------------------------------------------------------------

class RealChakra : public testing::Test {
 protected:
  void SetUp() override {
    const char* data = std::getenv("WARPLOOM_DATA");
    if (data == nullptr) GTEST_SKIP() << "WARPLOOM_DATA is not set";
    folder_ = fs::path(data) / "chakra";
    if (!fs::exists(folder_)) GTEST_SKIP() << folder_ << " is not there";
  }
  ExecutionGraph read_file(const fs::path& path) const {
    return read_execution_graph(*open_bytes((folder_ / path).string()));
  }
  fs::path folder_;
};

TEST_F(RealChakra, APyTorchTraceHasTheMeasuredCounts) {
  const auto graph = read_file("mlcommons-chakra/tests/data/x_feeder_tests_trace/tests/data/chakra.0.et");
  EXPECT_EQ(graph.size(), 3664U);
  EXPECT_EQ(std::count(graph.type.begin(), graph.type.end(), NodeType::compute), 3643);
  EXPECT_EQ(std::count(graph.type.begin(), graph.type.end(), NodeType::collective), 21);
  EXPECT_EQ(std::count(graph.is_cpu_op.begin(), graph.is_cpu_op.end(), true), 2448);
  EXPECT_EQ(graph.found.data, 181'878);
  EXPECT_EQ(graph.data_dependency.size(), 181'878U);
  EXPECT_EQ(graph.found.control, 3664);
  EXPECT_EQ(graph.found.dangling_control, 1277);
  EXPECT_EQ(graph.found.dangling_control_ids, 210);
  EXPECT_EQ(graph.found.self_control, 383);
  EXPECT_EQ(graph.found.data_to_larger_id, 53);
  EXPECT_EQ(graph.schema, "1.0.1");
  EXPECT_EQ(graph.size() - static_cast<std::size_t>(std::count(graph.duration.begin(), graph.duration.end(), 0)),
            3507U);
  const auto order = topological_order(graph);
  std::vector<std::size_t> place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  for (Index i = 0; i < graph.size(); ++i) {
    for (const Index before : graph.data(i)) EXPECT_LT(place[before], place[i]);
  }
}

TEST_F(RealChakra, EveryFileReadsAndWritesBackTheSame) {
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
    if (entry.path().extension() != ".et") continue;
    const auto graph = read_file(entry.path());
    EXPECT_TRUE(is_chakra(open_bytes(entry.path().string())->peek())) << entry.path();
    const auto again = read(written(graph));
    EXPECT_EQ(again.id, graph.id) << entry.path();
    EXPECT_EQ(again.data_dependency, graph.data_dependency) << entry.path();
    EXPECT_EQ(again.duration, graph.duration) << entry.path();
    EXPECT_EQ(again.comms.size(), graph.comms.size()) << entry.path();
    ++files;
  }
  EXPECT_EQ(files, 8 + 8 + 4 * (4 + 8 + 16) + 8 + 1);
}

TEST_F(RealChakra, AFolderOfRanksIsAFolderOfCaptures) {
  const auto read = read_traces(std::vector{(folder_ / "generated-stage/llama_8gpu_dp2_tp2_pp2_4layers").string()});
  ASSERT_EQ(read.captures.size(), 8U);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(read.captures[i].rank, static_cast<std::int64_t>(i));
  EXPECT_EQ(read.captures[0].device_ops.size(), 348U);
}

TEST_F(RealChakra, TheJsonOfTheSameRunHasTheSameNodes) {
  const auto graph = read_file("mlcommons-chakra/tests/data/x_json_trace/jsonData/chakra.0.json");
  EXPECT_EQ(graph.size(), 3664U);
  EXPECT_EQ(graph.found.data, 181'878);
  EXPECT_EQ(graph.found.data_to_larger_id, 53);
}

}  // namespace
}  // namespace warploom
