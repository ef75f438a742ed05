// SPDX-License-Identifier: Apache-2.0
// Nsight Systems exports made here: what each table becomes, and what a stranger's file may hold.
#include "traces/nsight_reader.hpp"

#include <gtest/gtest.h>

#include <string>

#include "sim/core/errors.hpp"
#include "tests/unit/traces/sqlite_builder.hpp"
#include "traces/link.hpp"

namespace warploom {
namespace {

using testing::sqlite_file;

// Process 5 of hardware 1, its main thread, and process 6.
constexpr std::int64_t process5 = (std::int64_t{1} << 56) | (std::int64_t{5} << 24);
constexpr std::int64_t process6 = (std::int64_t{1} << 56) | (std::int64_t{6} << 24);

std::string schema() {
  return "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"
         "CREATE TABLE META_DATA_EXPORT(name TEXT, value TEXT);"
         "CREATE TABLE TARGET_INFO_SESSION_START_TIME(utcEpochNs INTEGER);"
         "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,"
         " streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, graphNodeId INTEGER);"
         "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, end INTEGER, globalTid INTEGER,"
         " correlationId INTEGER, nameId INTEGER);"
         "INSERT INTO META_DATA_EXPORT VALUES('EXPORT_PRODUCT_VERSION','2025.1'),('EXPORT_SCHEMA_VERSION','3.20.0');"
         "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES(1700000000000000000);"
         "INSERT INTO StringIds VALUES(1,'gemm<float>'),(2,'cudaLaunchKernel_v7000'),"
         "(3,'cudaStreamWaitEvent_v3020'),(4,'cudaStreamSynchronize_v3020');";
}

std::string kernel(std::int64_t start, std::int64_t end, std::int64_t process, int correlation, int stream = 7) {
  return "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(" + std::to_string(start) + "," + std::to_string(end) +
         ",0,1," + std::to_string(stream) + "," + std::to_string(correlation) + "," + std::to_string(process) +
         ",1,NULL);";
}

std::string call(std::int64_t start, std::int64_t end, std::int64_t process, int correlation, int name = 2) {
  return "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(" + std::to_string(start) + "," + std::to_string(end) + "," +
         std::to_string(process + 5) + "," + std::to_string(correlation) + "," + std::to_string(name) + ");";
}

std::vector<Capture> read(const std::string& file, bool strict = false) {
  const auto source = bytes_of("made.sqlite", file);
  ReadOptions options;
  options.strict = strict;
  return make_nsight_reader()->read(*source, options);
}

TEST(Nsight, AProcessIsACaptureOfItsKernelsAndCalls) {
  const auto captures = read(sqlite_file(schema() + kernel(1000, 1500, process5, 9) + call(100, 140, process5, 9)));
  ASSERT_EQ(captures.size(), 1U);
  const Capture& capture = captures[0];
  EXPECT_EQ(capture.format, "nsight");
  EXPECT_EQ(capture.base_time, 1700000000000000000);
  EXPECT_EQ(capture.facts.at("product_version"), "2025.1");
  EXPECT_EQ(capture.facts.at("schema"), "3.20.0");
  EXPECT_EQ(capture.facts.at("process"), "5");
  ASSERT_EQ(capture.device_ops.size(), 1U);
  EXPECT_EQ(capture.device_ops[0].start, 1000);
  EXPECT_EQ(capture.device_ops[0].duration, 500);
  EXPECT_EQ(capture.texts[capture.device_ops[0].name], "gemm<float>");
  EXPECT_EQ(capture.streams[capture.device_ops[0].stream].name, "7");
  ASSERT_EQ(capture.calls.size(), 1U);
  EXPECT_EQ(capture.texts[capture.calls[0].name], "cudaLaunchKernel");  // the interface's version is no part of it
  EXPECT_EQ(capture.calls[0].kind, CallKind::launch);
  EXPECT_EQ(capture.threads[capture.calls[0].thread].id, 5);
}

TEST(Nsight, TheSameCorrelationInTwoProcessesNeverJoinsAcrossThem) {
  auto captures = read(sqlite_file(schema() + kernel(1000, 1500, process5, 9) + kernel(2000, 2500, process6, 9) +
                                   call(1900, 1940, process6, 9)));
  ASSERT_EQ(captures.size(), 2U);
  for (auto& capture : captures) link_launches(capture);
  EXPECT_EQ(captures[0].device_ops.at(0).launch, nothing);  // its call is not in the report: process 6's must not serve
  EXPECT_NE(captures[1].device_ops.at(0).launch, nothing);
}

TEST(Nsight, AWaitForAnEventLeadsToTheCallThatRecordedIt) {
  const std::string events =
      "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(start INTEGER, end INTEGER, deviceId INTEGER, contextId "
      "INTEGER,"
      " streamId INTEGER, correlationId INTEGER, globalPid INTEGER, syncType INTEGER, eventId INTEGER,"
      " eventSyncId INTEGER);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT(deviceId INTEGER, contextId INTEGER, streamId INTEGER,"
      " correlationId INTEGER, globalPid INTEGER, eventId INTEGER, eventSyncId INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES(0,1,20,11," +
      std::to_string(process5) +
      ",3,40),"
      "(0,1,20,15," +
      std::to_string(process5) +
      ",3,41);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES(50,60,0,1,7,16," +
      std::to_string(process5) + ",2,3,41),(70,80,0,1,7,17," + std::to_string(process5) + ",2,4294967295,4294967295);";
  const auto captures = read(sqlite_file(schema() + kernel(1, 2, process5, 9) + call(45, 65, process5, 16, 3) +
                                         call(69, 81, process5, 17, 4) + events));
  ASSERT_EQ(captures.at(0).syncs.size(), 2U);
  const Capture& capture = captures[0];
  EXPECT_EQ(capture.syncs[0].kind, SyncKind::stream_wait);
  EXPECT_EQ(capture.syncs[0].record_correlation, 15U);
  EXPECT_EQ(capture.streams[capture.syncs[0].recorded_on].name, "20");
  // syncType 2 of a cudaStreamSynchronize, as 2025.5 writes it: the call says what it is.
  EXPECT_EQ(capture.syncs[1].kind, SyncKind::stream_sync);
  EXPECT_EQ(capture.syncs[1].record_correlation, 0U);
}

TEST(Nsight, AGraphLaunchWithoutItsKernelsIsOneOpaqueBlockAndSaysHowToCaptureThem) {
  const auto captures = read(sqlite_file(
      schema() + call(10, 20, process5, 3) +
      "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,"
      " streamId INTEGER, correlationId INTEGER, globalPid INTEGER, graphId INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES(100,300,0,1,7,3," +
      std::to_string(process5) + ",2);"));
  ASSERT_EQ(captures.at(0).device_ops.size(), 1U);
  EXPECT_EQ(captures[0].device_ops[0].kind, DeviceOpKind::graph);
  EXPECT_EQ(captures[0].device_ops[0].duration, 200);
  EXPECT_NE(captures[0].facts.at("note_graphs").find("--cuda-graph-trace=node"), std::string::npos);
}

TEST(Nsight, RangesOfEmitNvtxAreOperatorsWithTheirShapesAndOthersAnnotations) {
  const std::string thread = std::to_string(process5 + 5);
  const auto captures = read(sqlite_file(
      schema() + kernel(1, 2, process5, 9) +
      "CREATE TABLE NVTX_EVENTS(start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER,"
      " textId INTEGER);"
      "INSERT INTO NVTX_EVENTS VALUES(10,30,59,'aten::mm, op_id = 7, seq = 3, sizes = [[2, 3], [3, 4]]'," +
      thread + ",NULL),(10,40,60,NULL," + thread + ",1),(5,NULL,34,'a mark'," + thread + ",NULL),(5,NULL,59,'open'," +
      thread + ",NULL);"));
  const Capture& capture = captures.at(0);
  ASSERT_EQ(capture.host_ops.size(), 1U);
  EXPECT_EQ(capture.texts[capture.host_ops[0].name], "aten::mm");
  EXPECT_EQ(capture.texts[capture.host_ops[0].shapes], "[[2, 3], [3, 4]]");
  EXPECT_EQ(capture.host_ops[0].external_id, 7U);
  ASSERT_EQ(capture.annotations.size(), 1U);
  EXPECT_EQ(capture.texts[capture.annotations[0].name], "gemm<float>");
  EXPECT_EQ(capture.events_by_category.at("NVTX_EVENTS"), 4);
  EXPECT_EQ(capture.repairs.count("unclosed_range"), 1);
}

TEST(Nsight, WhatIsNoTimeIsLeftOutAndCountedAndAnErrorWhenStrict) {
  const std::string file = sqlite_file(
      schema() + kernel(1000, 900, process5, 1) + kernel(INT64_MIN, INT64_MAX, process5, 2) + call(1, 2, process5, 1) +
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL(start,end,globalPid) VALUES(NULL,5," + std::to_string(process5) +
      "),"
      "('soon','later'," +
      std::to_string(process5) + "),(1.5,x'00'," + std::to_string(process5) + ");");
  const auto captures = read(file);
  ASSERT_EQ(captures.at(0).device_ops.size(), 1U);
  EXPECT_EQ(captures[0].device_ops[0].duration, 0);
  EXPECT_EQ(captures[0].repairs.count("negative_duration"), 1);
  EXPECT_EQ(captures[0].repairs.all()[0].largest, 100);
  EXPECT_EQ(captures[0].repairs.count("row_without_times"), 4);
  EXPECT_EQ(captures[0].event_count, 6);
  EXPECT_THROW(read(file, true), UserError);
}

TEST(Nsight, OtherDatabasesAreRefusedByName) {
  try {
    read(sqlite_file("CREATE TABLE customers(id INTEGER);"));
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(error.message().find("neither an export of Nsight Systems"), std::string::npos) << error.message();
  }
  EXPECT_THROW(read(sqlite_file(schema())), UserError);  // a report without any work
  EXPECT_THROW(read("SQLite format 3"), UserError);
}

TEST(Nsight, ViewsAndVirtualTablesOfAStrangersFileAreNotRead) {
  EXPECT_THROW(read(sqlite_file("CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"
                                "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(start) AS (SELECT 1 UNION "
                                "ALL SELECT start+1 FROM n) SELECT start, start AS end FROM n;")),
               UserError);
}

TEST(Nsight, AFileCutAnywhereIsReadOrRefusedNeverMore) {
  const std::string file = sqlite_file(schema() + kernel(1000, 1500, process5, 9) + call(100, 140, process5, 9));
  int refused = 0;
  for (std::size_t size = 0; size < file.size(); ++size) {
    try {
      const auto captures = read(file.substr(0, size));
      ASSERT_LE(captures.at(0).device_ops.size(), 1U);
    } catch (const UserError& error) {
      ++refused;
      EXPECT_FALSE(error.message().empty());
    }
  }
  EXPECT_GT(refused, static_cast<int>(file.size() * 3 / 4));
}

TEST(Nsight, AFlippedByteAnywhereIsReadOrRefusedNeverMore) {
  const std::string file = sqlite_file(schema() + kernel(1000, 1500, process5, 9) + call(100, 140, process5, 9));
  for (std::size_t place = 0; place < file.size(); place += 5) {
    for (const char mask : {'\x01', '\xff'}) {
      std::string broken = file;
      broken[place] = static_cast<char>(broken[place] ^ mask);
      try {
        read(broken);
      } catch (const UserError& error) {
        EXPECT_FALSE(error.message().empty());
      }
    }
  }
}

}  // namespace
}  // namespace warploom
