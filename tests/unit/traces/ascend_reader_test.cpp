// SPDX-License-Identifier: Apache-2.0
// Ascend profiles made here: what each record becomes, and what a stranger's files may hold.
#include "traces/ascend_reader.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "sim/core/errors.hpp"
#include "tests/unit/traces/sqlite_builder.hpp"
#include "traces/ascend_tables.hpp"
#include "traces/classify.hpp"
#include "traces/link.hpp"

namespace warploom {
namespace {

namespace fs = std::filesystem;
using testing::sqlite_file;

// One kernel, one all-reduce with a part and a plane's copy of it, and what called them. The time is the real one of
// the format's documentation: a double would lose its last digits.
std::string small_trace() {
  return R"json([
{"ph": "M", "name": "process_name", "pid": 5, "tid": 0, "args": {"name": "Python"}},
{"ph": "X", "name": "aten::mm", "pid": 5, "tid": 77, "ts": "1736408883704600.001", "dur": 20, "cat": "cpu_op",
 "args": {"Input Dims": "16,1024;\r\n1024,4096", "Input type": "float;\r\nfloat"}},
{"ph": "X", "name": "Node@launch", "pid": 6, "tid": 77, "ts": "1736408883704605.000", "dur": 1.5,
 "args": {"Thread Id": 77, "Mode": "launch", "level": "node", "connection_id": 953}},
{"name": "aclnnMm_MatMulV2", "pid": 8, "tid": 2, "ts": "1736408883704643.212", "dur": 53.7410625, "args":
 {"Model Id": 4294967295, "Task Type": "AI_CORE", "connection_id": 953}, "ph": "X"},
{"name": "HostToDevice40004068119343529983", "ph": "s", "cat": "HostToDevice", "id": "40004068119343529983", "pid": 6,
 "tid": 77, "ts": "1736408883704610.000"},
{"name": "hcom_allReduce__586_0_1", "pid": 9, "tid": 0, "ts": "1736408883704700.000", "dur": 100.0, "ph": "X",
 "args": {"connection_id": 1175, "data_type": "FP32", "alg_type": "MESH-RING", "count": 4097000}},
{"name": "HostToDevice40004068119343529983", "ph": "f", "id": "40004068119343529983", "ts": "1736408883704700.000",
 "cat": "HostToDevice", "pid": 9, "tid": 0, "bp": "e"},
{"name": "EVENT_WAIT", "pid": 8, "tid": 4, "ts": "1736408883704690.000", "dur": 9, "ph": "X",
 "args": {"Task Type": "EVENT_WAIT_SQE", "connection_id": 1174}},
{"name": "EVENT_RECORD", "pid": 8, "tid": 2, "ts": "1736408883704698.900", "dur": 0.02, "ph": "X",
 "args": {"Task Type": "EVENT_RECORD_SQE", "connection_id": 1173}},
{"name": "Notify Wait", "pid": 8, "tid": 4, "ts": "1736408883704700.000", "dur": 90, "ph": "X",
 "args": {"Task Type": "Notify Wait", "connection_id": 1175}},
{"name": "Notify_Wait", "pid": 9, "tid": 1, "ts": "1736408883704700.000", "dur": 90, "ph": "X",
 "args": {"notify_id": "92", "task type": "Notify_Wait", "src rank": 0}},
{"name": "Computing", "pid": 10, "tid": 0, "ts": "1736408883704643.212", "dur": 53.742, "ph": "X"},
{"name": "HBM 0/Read", "ts": "1736408883574037.920", "pid": 11, "tid": 0, "args": {"Read(MB/s)": 0.0}, "ph": "C"},
{"ph": "M", "name": "thread_name", "pid": 9, "tid": 0, "args": {"name": "Group 0 Communication"}},
{"ph": "M", "name": "thread_name", "pid": 8, "tid": 4, "args": {"name": "Stream 4"}},
{"ph": "M", "name": "thread_name", "pid": 8, "tid": 2, "args": {"name": "Stream 2"}}
])json";
}

Capture read(const std::string& text, bool strict = false) {
  const auto source = bytes_of("trace_view.json", text);
  ReadOptions options;
  options.strict = strict;
  Capture capture = std::move(make_ascend_reader()->read(*source, options).at(0));
  link_launches(capture);
  classify(capture);
  return capture;
}

const DeviceOp& op_named(const Capture& capture, std::string_view name) {
  for (const auto& op : capture.device_ops) {
    if (capture.texts[op.name] == name) return op;
  }
  throw std::runtime_error("no such operation: " + std::string(name));
}

TEST(Ascend, TimesAreReadFromTextToTheNanosecond) {
  const Capture capture = read(small_trace());
  const DeviceOp& kernel = op_named(capture, "aclnnMm_MatMulV2");
  EXPECT_EQ(kernel.start, 1736408883704643212);
  EXPECT_EQ(kernel.duration, 53741);  // of 53.7410625 us
  EXPECT_EQ(capture.streams[kernel.stream].name, "Stream 2");
  EXPECT_EQ(kernel.op_class, OpClass::gemm);
  EXPECT_EQ(capture.base_time, 0);
}

TEST(Ascend, AKernelLeadsToItsCallAndToItsOperator) {
  const Capture capture = read(small_trace());
  const DeviceOp& kernel = op_named(capture, "aclnnMm_MatMulV2");
  ASSERT_NE(kernel.launch, nothing);
  EXPECT_EQ(capture.texts[capture.calls[kernel.launch].name], "Node@launch");
  EXPECT_EQ(capture.calls[kernel.launch].kind, CallKind::launch);
  ASSERT_NE(kernel.host_op, nothing);
  EXPECT_EQ(capture.texts[capture.host_ops[kernel.host_op].name], "aten::mm");
}

TEST(Ascend, ACommunicationIsOneOperationAndItsPartsAreNoWork) {
  const Capture capture = read(small_trace());
  const DeviceOp& reduce = op_named(capture, "hcom_allReduce__586_0_1");
  ASSERT_NE(reduce.collective, nothing);
  EXPECT_EQ(capture.collectives[reduce.collective].in_elements, 4097000);
  EXPECT_EQ(capture.texts[capture.collectives[reduce.collective].algorithm], "MESH-RING");
  EXPECT_EQ(capture.groups.at(capture.collectives[reduce.collective].group).name, "Group 0");
  EXPECT_EQ(op_named(capture, "Notify Wait").kind, DeviceOpKind::sync);
  EXPECT_EQ(capture.device_ops.size(), 5U);  // the plane's task and the vendor's analysis are not there again
  // Its call is not in the file: the flow, whose id exceeds 64 bits, says when it was made.
  ASSERT_NE(reduce.launch, nothing);
  EXPECT_EQ(capture.calls[reduce.launch].start, 1736408883704610000);
  EXPECT_EQ(capture.calls[reduce.launch].duration, 0);
}

TEST(Ascend, AWaitThatWaitedLeadsToTheRecordThatEndedItAndTheCommunicationFollowsTheWait) {
  const Capture capture = read(small_trace());
  const auto has_edge = [&](std::string_view from, std::string_view to, bool is_inferred) {
    return std::any_of(capture.device_edges.begin(), capture.device_edges.end(), [&](const DeviceEdge& edge) {
      return capture.texts[capture.device_ops[edge.from].name] == from &&
             capture.texts[capture.device_ops[edge.to].name] == to && edge.is_inferred == is_inferred;
    });
  };
  EXPECT_TRUE(has_edge("EVENT_RECORD", "EVENT_WAIT", true));
  EXPECT_TRUE(has_edge("EVENT_WAIT", "hcom_allReduce__586_0_1", false));
  EXPECT_EQ(capture.device_edges.size(), 2U);
}

TEST(Ascend, WhatIsNoTimeIsLeftOutAndCountedAndAnErrorWhenStrict) {
  const std::string text = R"([{"ph":"X","name":"a","pid":8,"tid":2,"ts":"x","dur":1,"args":{"Task Type":"AI_CORE"}},
{"ph":"X","name":"b","pid":8,"tid":2,"ts":"99999999999999999999","dur":1,"args":{"Task Type":"AI_CORE"}},
{"ph":"X","name":"c","pid":8,"tid":2,"ts":"5","dur":-1.5,"args":{"Task Type":"AI_CORE"}},
{"ph":"X","name":"d","pid":8,"tid":2,"ts":"5","dur":1e300,"args":{"Task Type":"AI_CORE"}}])";
  const Capture capture = read(text);
  ASSERT_EQ(capture.device_ops.size(), 1U);
  EXPECT_EQ(capture.device_ops[0].duration, 0);
  EXPECT_EQ(capture.repairs.count("row_without_times"), 3);
  EXPECT_EQ(capture.repairs.count("negative_duration"), 1);
  EXPECT_THROW(read(text, true), UserError);
}

TEST(Ascend, AnotherChromeTraceIsNotTaken) {
  const auto reader = make_ascend_reader();
  EXPECT_TRUE(reader->recognises(small_trace()));
  EXPECT_FALSE(reader->recognises(R"({"traceEvents": [{"ph": "X", "ts": "5"}]})"));
  EXPECT_FALSE(reader->recognises(R"([{"ph": "X", "ts": 5, "name": "\"ts\""}])"));
  EXPECT_FALSE(reader->recognises(""));
}

TEST(Ascend, ATraceCutAnywhereIsReadOrRefusedNeverMore) {
  const std::string text = small_trace();
  std::size_t most = 0;
  for (std::size_t size = 0; size < text.size(); ++size) {
    try {
      most = std::max(most, read(text.substr(0, size)).device_ops.size());
    } catch (const UserError& error) {
      EXPECT_FALSE(error.message().empty());
    }
  }
  EXPECT_EQ(most, 5U);  // what was whole before the cut is kept
}

class AscendFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() /
              ("warploom_ascend_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "host_1_2_ascend_pt" / "ASCEND_PROFILER_OUTPUT");
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path profile() const { return folder_ / "host_1_2_ascend_pt"; }
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(profile() / name, std::ios::binary) << content;
  }
  fs::path folder_;
};

TEST_F(AscendFolder, TablesBesideTheTraceSayWhatTheTraceDoesNot) {
  write("ASCEND_PROFILER_OUTPUT/trace_view.json", small_trace());
  write("ASCEND_PROFILER_OUTPUT/kernel_details.csv",
        "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Input Shapes,Input Data Types\n"
        "50,aclnnMm_MatMulV2,MatMulV2,AI_CORE,1736408883704643.212\t,53.741,\"\"\"16,1024;1024,4096\"\"\",FLOAT;FLOAT\n"
        "50,hcom_allReduce__586_0_1,hcom_allReduce_,HCCL,1736408883704700.000\t,100,N/A,N/A\n");
  write("ASCEND_PROFILER_OUTPUT/communication.json",
        R"json({"step50":{"p2p":{},"collective":{"hcom_allReduce__586_0_1@123":{"Communication Time Info":
{"Start Timestamp(us)":1.7e15,"Elapse Time(ms)":0.1,"Transit Time(ms)":0.0125,"Wait Time(ms)":0.05}},
"Total Op Info":{}}}})json");
  write("profiler_info_3.json", R"({"config":{"experimental_config":{"_profiler_level":"Level1"}},"rank_id":3})");
  write("profiler_metadata.json", R"({"parallel_group_info":{"123":{"group_name":"tp","global_ranks":[2,3]}}})");
  const auto reader = make_ascend_reader();
  ASSERT_TRUE(reader->recognises_folder(profile()));
  const auto read = read_traces(std::vector<std::string>{folder_.string()});  // found below the folder given
  ASSERT_EQ(read.captures.size(), 1U);
  const Capture& capture = read.captures[0];
  EXPECT_EQ(capture.rank, 3);
  EXPECT_EQ(capture.facts.at("profiler_level"), "Level1");
  ASSERT_EQ(capture.details.size(), 1U);
  const auto& detail = capture.details[0];
  EXPECT_EQ(capture.texts[capture.device_ops[detail.op].name], "aclnnMm_MatMulV2");
  EXPECT_EQ(capture.texts[detail.type], "MatMulV2");
  EXPECT_EQ(capture.texts[detail.shapes], "16,1024;1024,4096");
  EXPECT_EQ(capture.collectives.at(0).transfer, 12500);
  EXPECT_EQ(capture.groups.at(0).ranks, (std::vector<std::int64_t>{2, 3}));
}

TEST_F(AscendFolder, AProfileThatWasNotAnalysedSaysHowTo) {
  try {
    make_ascend_reader()->read_folder(profile(), {});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(error.hint().find("analyse"), std::string::npos);
  }
}

TEST(AscendTables, CommunicationJsonCutAnywhereIsReadOrRefusedNeverMore) {
  const std::string text = R"json({"step1":{"p2p":{},"collective":{"op@1":{"Communication Time Info":
{"Transit Time(ms)":0.5,"x":[1,{"y":2}]}}}}})json";
  for (std::size_t size = 0; size <= text.size(); ++size) {
    ascend::Builder builder("communication.json", false);
    const auto source = bytes_of("communication.json", std::string_view(text).substr(0, size));
    try {
      ascend::read_communication(*source, builder);
    } catch (const UserError& error) {
      EXPECT_LT(size, text.size());
      EXPECT_NE(error.message().find("communication.json"), std::string::npos);
    }
  }
}

TEST(AscendDatabase, TextTimesNullsAndTasksWithoutWorkAreToldApart) {
  const std::string file = sqlite_file(
      "CREATE TABLE STRING_IDS(id INTEGER PRIMARY KEY, value TEXT);"
      "CREATE TABLE TASK(startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER, globalTaskId INTEGER,"
      " taskType INTEGER, streamId INTEGER);"
      "CREATE TABLE COMPUTE_TASK_INFO(globalTaskId INTEGER, name INTEGER, opType INTEGER, taskType INTEGER,"
      " inputShapes INTEGER);"
      "CREATE TABLE PYTORCH_API(startNs TEXT, endNs TEXT, globalTid INTEGER, connectionId INTEGER, name INTEGER, type "
      "INTEGER);"
      "CREATE TABLE CONNECTION_IDS(id INTEGER, connectionId INTEGER);"
      "INSERT INTO STRING_IDS VALUES(1,'KERNEL_AICORE'),(2,'mm_0'),(3,'MatMulV2'),(4,'\"2,3;3,4\"'),(5,'aten::mm');"
      "INSERT INTO TASK VALUES(1000,1500,0,9,0,1,2),(2000,2500,0,10,1,1,2),(NULL,3,0,0,2,1,2),(7,5,0,0,3,1,2),"
      "(-9223372036854775808,9223372036854775807,0,0,4,1,2);"
      "INSERT INTO COMPUTE_TASK_INFO VALUES(0,2,3,1,4);"
      "INSERT INTO PYTORCH_API VALUES('900','950',21474836487,50,5,50001);"
      "INSERT INTO CONNECTION_IDS VALUES(50,9);");
  const auto source = bytes_of("p.db", file);
  auto captures = read_ascend_database(SqliteDatabase(*source), {});
  Capture& capture = captures.at(0);
  link_launches(capture);
  classify(capture);
  ASSERT_EQ(capture.device_ops.size(), 3U);
  const DeviceOp& kernel = op_named(capture, "mm_0");
  EXPECT_EQ(kernel.kind, DeviceOpKind::kernel);
  EXPECT_EQ(kernel.op_class, OpClass::gemm);  // by its type: its name says nothing
  ASSERT_NE(kernel.host_op, nothing);
  EXPECT_EQ(capture.host_ops[kernel.host_op].start, 900);
  EXPECT_EQ(capture.threads[capture.host_ops[kernel.host_op].thread].process, 5);
  EXPECT_EQ(op_named(capture, "KERNEL_AICORE").kind, DeviceOpKind::sync);  // no row of its own: it stands around others
  EXPECT_EQ(capture.repairs.count("row_without_times"), 2);
  EXPECT_EQ(capture.repairs.count("negative_duration"), 1);
}

}  // namespace
}  // namespace warploom
