// SPDX-License-Identifier: Apache-2.0
// Execution traces beside Kineto traces: both generations of nodes, both ways to find an operator again, and the sizes
// of two real jobs (WARPLOOM_DATA).
#include "traces/execution_trace.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "sim/core/errors.hpp"
#include "traces/kineto_groups.hpp"
#include "traces/kineto_reader.hpp"

namespace warploom {
namespace {

ExecutionTrace read(std::string_view text) {
  const auto source = bytes_of("et.json", text);
  return read_execution_trace(*source);
}

constexpr std::string_view old_nodes =
    R"json({"schema":"1.0.1","pid":7,"nodes":[
    {"name":"aten::mm","id":3,"rf_id":2,"parent":2,"tid":1,"inputs":[[211,132,0,33554432,2,"cuda:0"],[199,201,0,6291456,2,"cuda:0"]],"input_shapes":[[8192,4096],[4096,1536]],"input_types":["Tensor(c10::Half)","Tensor(c10::Half)"],"outputs":[],"output_shapes":[],"output_types":[]},
    {"name":"record_param_comms","id":9,"rf_id":5,"parent":2,"tid":1,"inputs":[[[131,132,0,33554432,2,"cuda:0"]],337,93825114103440,0,"allreduce",[],[],8],"input_shapes":[[[4,2048,4096]],[],[],[],[],[],[],[]],"input_types":["GenericList[Tensor(c10::Half)]","Int","Int","Int","String","GenericList[]","GenericList[]","Int"],"outputs":[[[131,132,0,33554432,2,"cuda:0"]]],"output_shapes":[[[4,2048,4096]]],"output_types":["GenericList[Tensor(c10::Half)]"]},
    {"name":"aten::mm","id":2,"rf_id":1,"parent":2,"tid":1,"inputs":[1],"input_shapes":[[2]],"input_types":["Tensor(float)"],"outputs":[],"output_shapes":[],"output_types":[]}]})json";

TEST(ExecutionTrace, NodesOfTheFirstSchemaTellShapesAndSizes) {
  const ExecutionTrace trace = read(old_nodes);
  EXPECT_EQ(trace.schema, "1.0.1");
  ASSERT_EQ(trace.nodes.size(), 3U);
  EXPECT_EQ(trace.texts[trace.nodes[0].shapes], "[[2]]");  // in the order of ids
  EXPECT_EQ(trace.texts[trace.nodes[1].shapes], "[[8192, 4096], [4096, 1536]]");
  EXPECT_EQ(trace.texts[trace.nodes[1].types], R"(["c10::Half", "c10::Half"])");
  const CollectiveRecord& record = trace.collectives.at(trace.nodes[2].collective);
  EXPECT_EQ(trace.texts[record.name], "allreduce");
  EXPECT_EQ(trace.texts[record.type], "Half");
  EXPECT_EQ(record.in_elements, 4 * 2048 * 4096);
  EXPECT_EQ(record.out_elements, 4 * 2048 * 4096);
  EXPECT_EQ(trace.groups.at(record.group).size, 8);
  EXPECT_TRUE(trace.groups.at(record.group).name.empty());  // an address is no name
}

TEST(ExecutionTrace, AttributesOfLaterSchemasTellTheGroup) {
  const ExecutionTrace trace = read(
      R"json({"schema":"1.1.0-chakra.0.0.4","nodes":[{"id":4,"name":"record_param_comms","ctrl_deps":2,
      "inputs":{"values":[1],"shapes":[[64]],"types":["Tensor(float)"]},"outputs":{"values":[],"shapes":[],"types":[]},
      "attrs":[{"name":"rf_id","type":"uint64","value":12},{"name":"tid","type":"uint64","value":3},{"name":"collective_name","type":"string","value":"reduce_scatter"},
      {"name":"dtype","type":"string","value":"BFloat16"},{"name":"in_msg_nelems","type":"uint64","value":64},{"name":"out_msg_nelems","type":"uint64","value":16},
      {"name":"pg_name","type":"string","value":"2"},{"name":"pg_desc","type":"string","value":"tp"},{"name":"pg_size","type":"uint64","value":4},
      {"name":"global_rank_start","type":"uint64","value":8},{"name":"global_rank_stride","type":"uint64","value":2}]}]})json");
  ASSERT_EQ(trace.nodes.size(), 1U);
  EXPECT_EQ(trace.nodes[0].record_id, 12);
  EXPECT_EQ(trace.nodes[0].thread, 3);
  const CollectiveRecord& record = trace.collectives.at(0);
  EXPECT_EQ(record.in_elements, 64);
  EXPECT_EQ(record.out_elements, 16);
  EXPECT_EQ(trace.groups.at(record.group).ranks, (std::vector<std::int64_t>{8, 10, 12, 14}));
}

Capture kineto(std::string_view record_ids) {
  const std::string text = fmt::format(
      R"json({{"distributedInfo":{{"rank":0,"world_size":8}},"traceEvents":[
      {{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":1,"dur":1,"args":{{"a":0{}}}}},
      {{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":3,"dur":1,"args":{{"a":0}}}},
      {{"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":1,"tid":1,"ts":5,"dur":9,"args":{{"a":0}}}},
      {{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":6,"dur":1,"args":{{"correlation":4}}}},
      {{"ph":"X","cat":"kernel","name":"ncclKernel_AllReduce","pid":0,"tid":7,"ts":9,"dur":1,"args":{{"correlation":4}}}}]}})json",
      record_ids);
  const auto source = bytes_of("k.json", text);
  return std::move(make_kineto_reader()->read(*source, {}).front());
}

TEST(ExecutionTrace, WithoutIdsTheKthOfANameIsTheKth) {
  Capture capture = kineto("");
  EXPECT_EQ(add_execution_trace(capture, read(old_nodes)), 3);
  EXPECT_EQ(capture.texts[capture.host_ops[0].shapes], "[[2]]");
  EXPECT_EQ(capture.texts[capture.host_ops[1].shapes], "[[8192, 4096], [4096, 1536]]");
  const CollectiveRecord& record = capture.collectives.at(capture.device_ops.at(0).collective);
  EXPECT_EQ(record.in_elements, 33554432);
  EXPECT_EQ(capture.groups.at(record.group).ranks.size(), 8U);  // as large as the world
}

TEST(ExecutionTrace, WithIdsTheyDecide) {
  Capture capture = kineto(R"(,"Record function id":2)");
  EXPECT_EQ(add_execution_trace(capture, read(old_nodes)), 1);
  EXPECT_EQ(capture.texts[capture.host_ops[0].shapes], "[[8192, 4096], [4096, 1536]]");
}

TEST(ExecutionTrace, WhatIsNoneIsRefused) {
  EXPECT_TRUE(is_execution_trace(old_nodes));
  EXPECT_FALSE(is_execution_trace(R"({"traceEvents":[]})"));
  EXPECT_THROW(read(R"({"nodes":[]})"), UserError);
  EXPECT_THROW(read(R"({"schema":"9.0.0","nodes":[]})"), UserError);
  EXPECT_EQ(
      read(
          R"({"schema":"1.0.1","nodes":[{"id":"x"},{"name":5},[],{"name":"record_param_comms","inputs":[[]],"input_types":["String"],"input_shapes":[]}]})")
          .nodes.size(),
      1U);
}

std::int64_t size_of(std::string_view type) { return type == "Long" || type == "Double" ? 8 : type == "Half" ? 2 : 4; }

// The bytes that the truth gives for the i-th collective, on every rank.
void expect_sizes(const std::vector<std::string>& paths, const std::filesystem::path& truth_file) {
  const ReadTraces read = read_traces(paths);
  ASSERT_EQ(read.captures.size(), 8U);
  EXPECT_TRUE(read.skipped.empty());
  simdjson::dom::parser parser;
  const simdjson::dom::element truth = parser.load(truth_file.string());
  for (const auto& capture : read.captures) {
    std::vector<const CollectiveRecord*> records;
    for (const auto& op : capture.device_ops) {
      if (op.op_class != OpClass::communication) continue;
      ASSERT_NE(op.collective, nothing);
      records.push_back(&capture.collectives[op.collective]);
    }
    const auto collectives = truth["collectives"].get_array().value();
    ASSERT_EQ(records.size(), collectives.size());
    for (std::size_t i = 0; i < records.size(); ++i) {
      const simdjson::dom::element entry = collectives.at(i).value();
      simdjson::dom::element bytes = entry["bytes_per_rank"];
      if (bytes.is_object()) bytes = bytes[std::to_string(*capture.rank)];
      EXPECT_EQ(capture.texts[records[i]->name], entry["op"].get_string().value());
      EXPECT_EQ(records[i]->in_elements * size_of(capture.texts[records[i]->type]), bytes.get_int64().value());
      const auto sum = [&](TextId splits) {
        const RankList list = parse_ranks(capture.texts[splits]);
        return std::accumulate(list.ranks.begin(), list.ranks.end(), std::int64_t{0});
      };
      if (sum(records[i]->in_splits) > 0) {
        EXPECT_EQ(sum(records[i]->in_splits), records[i]->in_elements);
      }
      if (sum(records[i]->out_splits) > 0) {
        EXPECT_EQ(sum(records[i]->out_splits), records[i]->out_elements);
      }
    }
  }
}

TEST(ExecutionTrace, TheSizesOfTwoRealJobsAreFound) {
  const char* data = std::getenv("WARPLOOM_DATA");
  if (data == nullptr) GTEST_SKIP() << "WARPLOOM_DATA is not set";
  const auto traces = std::filesystem::path(data) / "traces";
  expect_sizes({(traces / "astra_history/megatron-tp8").string()}, traces / "truth_megatron_tp8_a100_collectives.json");
  expect_sizes({(traces / "param/dlrm_kineto.tar.gz").string(), (traces / "param/dlrm_pytorch_et.tar.gz").string()},
               traces / "truth_dlrm8_v100_collectives.json");
}

}  // namespace
}  // namespace warploom
