// SPDX-License-Identifier: Apache-2.0
// Real Ascend profiles, both forms, against truth_ascend_msinsight.json and the vendor's own step times
// (WARPLOOM_DATA).
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/support/vendor_truth.hpp"
#include "traces/decimal_time.hpp"
#include "traces/readers.hpp"

namespace warploom {
namespace {

using testing::Intervals;
using testing::length;
using testing::ns;

struct Work {
  Intervals computing, communication, both;
};

Work work_of(const Capture& capture) {
  Work work;
  for (const auto& op : capture.device_ops) {
    const std::pair interval(op.start, op.end());
    if (op.collective != nothing) {
      work.communication.push_back(interval);
    } else if (op.kind == DeviceOpKind::kernel) {
      work.computing.push_back(interval);
    } else {
      continue;
    }
    work.both.push_back(interval);
  }
  return work;
}

Capture read_one(const std::string& folder) {
  auto read = read_traces(std::vector<std::string>{folder});
  EXPECT_EQ(read.captures.size(), 1U) << folder;
  return std::move(read.captures.at(0));
}

void expect_near(std::int64_t ours, std::int64_t vendors, std::int64_t bound) {
  EXPECT_LE(std::abs(ours - vendors), bound) << ours << " ns here, " << vendors << " ns by the vendor";
}

// The vendor's figures, which lie within check_us of the exact ones.
void expect_step(const Work& work, const simdjson::dom::element& truth) {
  const auto vendor = [&](const char* key) { return ns(truth["step_trace_time_csv"][key].get_double().value()); };
  const auto bound = [&](const char* key) { return std::abs(ns(truth["check_us"][key].get_double().value())) + 15; };
  const Intervals united = testing::united(work.both);
  const std::int64_t span = united.back().second - united.front().first;
  const std::int64_t overlapped = testing::overlap(work.computing, work.communication);
  expect_near(length(work.computing), vendor("Computing"), bound("computing"));
  expect_near(length(work.communication), vendor("Communication"), bound("communication"));
  expect_near(length(work.communication) - overlapped, vendor("Communication(Not Overlapped)"),
              bound("not_overlapped"));
  expect_near(overlapped, vendor("Overlapped"), bound("not_overlapped") + bound("communication"));
  expect_near(span - length(work.both), vendor("Free"), bound("free"));
  expect_near(span, vendor("Stage"), bound("stage"));
}

void expect_streams(const Capture& capture, const simdjson::dom::element& truth) {
  std::map<std::string, Intervals> by_stream;
  std::map<std::string, double> sums;
  for (const auto& op : capture.device_ops) {
    if (op.collective != nothing) continue;
    const std::string& name = capture.streams[op.stream].name;
    by_stream[name].emplace_back(op.start, op.end());
    sums[name] += static_cast<double>(op.duration);
  }
  std::size_t streams = 0;
  for (const auto stream : truth["hw_streams"].get_object()) {
    SCOPED_TRACE(std::string(stream.key));
    const auto& mine = by_stream.at(std::string(stream.key));
    const auto count = static_cast<double>(mine.size());
    EXPECT_EQ(static_cast<std::int64_t>(mine.size()), stream.value["n"].get_int64().value());
    // Durations are written to 0.1 ps: each is rounded to a whole nanosecond here.
    EXPECT_NEAR(sums[std::string(stream.key)], stream.value["sum_us"].get_double().value() * 1000, count / 2 + 1);
    EXPECT_NEAR(static_cast<double>(length(mine)), stream.value["union_us"].get_double().value() * 1000, count / 2 + 1);
    ++streams;
  }
  EXPECT_EQ(by_stream.size(), streams);
}

void expect_collectives(const Capture& capture, const simdjson::dom::element& truth) {
  std::map<std::string, const DeviceOp*> by_name;
  for (const auto& op : capture.device_ops) {
    if (op.collective != nothing) by_name[std::string(capture.texts[op.name])] = &op;
  }
  std::size_t count = 0;
  for (const auto expected : truth["hccl_ops"]) {
    const DeviceOp& op = *by_name.at(std::string(expected["name"].get_string().value()));
    const CollectiveRecord& record = capture.collectives.at(op.collective);
    EXPECT_EQ(op.start, parse_time(expected["start_us"].get_string().value()).ns);
    EXPECT_EQ(op.duration, ns(expected["dur_us"].get_double().value()));
    EXPECT_EQ(op.op_class, OpClass::communication);
    EXPECT_EQ(capture.streams[op.stream].name, "Group 0 Communication");
    EXPECT_EQ(record.in_elements, expected["args"]["count"].get_int64().value());
    EXPECT_EQ(record.out_elements, record.in_elements);
    EXPECT_EQ(capture.texts[record.type], expected["args"]["data_type"].get_string().value());
    EXPECT_EQ(capture.texts[record.algorithm], expected["args"]["alg_type"].get_string().value());
    EXPECT_EQ(op.correlation, static_cast<std::uint64_t>(expected["args"]["connection_id"].get_int64().value()));
    ++count;
  }
  EXPECT_EQ(by_name.size(), count);
}

void expect_cores(const Capture& capture, const simdjson::dom::element& truth) {
  std::map<std::string, std::int64_t> by_core;
  for (const auto& detail : capture.details) {
    ++by_core[detail.core == nothing ? "N/A" : std::string(capture.texts[detail.core])];
  }
  by_core["HCCL"] = static_cast<std::int64_t>(capture.collectives.size());
  std::map<std::string, std::int64_t> expected;
  for (const auto core : truth["kernel_rows_by_core"].get_object()) {
    expected[std::string(core.key)] = core.value.get_int64().value();
  }
  EXPECT_EQ(by_core, expected);
}

TEST(AscendOracle, TheTextFormReproducesEveryNumberOfTheTruthFile) {
  const auto folder = testing::trace_folder();
  if (!folder) GTEST_SKIP() << "WARPLOOM_DATA is not set: no real profiles";
  simdjson::dom::parser parser;
  const auto truth = parser.load(*folder + "truth_ascend_msinsight.json").value();
  int compared = 0;
  for (const auto entry : truth["traces"]) {
    const std::string directory(entry["dir"].get_string().value());
    const std::string path = *folder + "ascend_msinsight/pytorch/text/" + directory;
    if (!std::filesystem::exists(path)) continue;
    SCOPED_TRACE(path);
    const Capture capture = read_one(path);
    EXPECT_EQ(capture.rank, directory.find("rank1") == std::string::npos ? 0 : 1);
    EXPECT_TRUE(capture.repairs.all().empty());
    expect_step(work_of(capture), entry);
    expect_streams(capture, entry);
    expect_collectives(capture, entry);
    expect_cores(capture, entry);
    for (const auto step : entry["steps"]) {
      const auto name = capture.texts.find(step["name"].get_string().value());
      ASSERT_TRUE(name);
      const auto place = std::find_if(capture.annotations.begin(), capture.annotations.end(),
                                      [&](const Annotation& annotation) { return annotation.name == *name; });
      ASSERT_NE(place, capture.annotations.end());
      EXPECT_EQ(place->start, parse_time(step["start_us"].get_string().value()).ns);
      EXPECT_EQ(place->duration, ns(step["wall_us"].get_double().value()));
    }
    ++compared;
  }
  EXPECT_EQ(compared, 6);
}

TEST(AscendOracle, EveryWorkingTaskHasItsCallAndItsOperatorInBothForms) {
  const auto folder = testing::trace_folder();
  if (!folder) GTEST_SKIP() << "WARPLOOM_DATA is not set: no real profiles";
  for (const std::string form : {"text", "db"}) {
    for (const std::string level : {"level0", "level1", "level2"}) {
      const std::string path = *folder + "ascend_msinsight/pytorch/" + form + "/" + level + "/rank0_ascend_pt";
      SCOPED_TRACE(path);
      const Capture capture = read_one(path);
      int kernels = 0;
      int without_call = 0;
      int without_operator = 0;
      for (const auto& op : capture.device_ops) {
        if (op.kind == DeviceOpKind::sync) continue;
        ++kernels;
        without_call += op.launch == nothing ? 1 : 0;
        without_operator += op.host_op == nothing ? 1 : 0;
      }
      EXPECT_EQ(kernels, 187 + 24 + 4);  // kernels, copies, collectives
      EXPECT_EQ(without_call, 0);
      EXPECT_LE(without_operator, 20);
    }
  }
}

// The vendor's tool wrote both: its own figures beside the database.
TEST(AscendOracle, TheDatabaseFormReproducesTheVendorsStepTimes) {
  const auto folder = testing::trace_folder();
  if (!folder) GTEST_SKIP() << "WARPLOOM_DATA is not set: no real profiles";
  for (const std::string level : {"level0", "level1", "level2"}) {
    for (const std::string rank : {"0", "1"}) {
      const std::string path = *folder + "ascend_msinsight/pytorch/db/" + level + "/rank" + rank + "_ascend_pt";
      SCOPED_TRACE(path);
      const Capture capture = read_one(path);
      EXPECT_EQ(std::to_string(capture.rank.value_or(-1)), rank);
      EXPECT_EQ(capture.devices.at(0).name, "Ascend910B");
      const Work work = work_of(capture);
      const auto vendor = [&](const std::string& name) {
        return static_cast<double>(parse_time(capture.facts.at("step_trace_time 50 " + name)).ns);
      };
      constexpr double within = 150;  // ns, as in the text form
      EXPECT_NEAR(static_cast<double>(length(work.computing)), vendor("Computing"), within);
      EXPECT_NEAR(static_cast<double>(length(work.communication)), vendor("Communication"), within);
      EXPECT_NEAR(static_cast<double>(testing::overlap(work.computing, work.communication)), vendor("Overlapped"),
                  within);
      const Intervals united = testing::united(work.both);
      const std::int64_t span = united.back().second - united.front().first;
      EXPECT_NEAR(static_cast<double>(span - length(work.both)), vendor("Free"), within);
    }
  }
}

TEST(AscendOracle, TransferIsToldApartFromWaitingWhereTheProfileRecordsIt) {
  const auto folder = testing::trace_folder();
  if (!folder) GTEST_SKIP() << "WARPLOOM_DATA is not set: no real profiles";
  const Capture capture = read_one(*folder + "ascend_msinsight/pytorch/text/level1/rank0_ascend_pt");
  ASSERT_EQ(capture.collectives.size(), 4U);
  // The first all-reduce took 79.09 ms, of which 0.24 ms moved bytes; the group's eight ranks are known from its pairs.
  EXPECT_NEAR(static_cast<double>(capture.collectives[0].transfer), 240'000, 10'000);
  for (const auto& op : capture.device_ops) {
    if (op.collective == nothing) continue;
    EXPECT_GT(capture.collectives[op.collective].transfer, 0);
    EXPECT_LT(capture.collectives[op.collective].transfer, op.duration);
  }
  ASSERT_EQ(capture.groups.size(), 1U);
  EXPECT_EQ(capture.groups[0].name, "Group 0");
  EXPECT_EQ(capture.groups[0].ranks, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
}

// Waits of the streams for each other: each of the ten in these profiles leads to the one record that explains it.
TEST(AscendOracle, EveryWaitForAnEventFindsARecordThatEndsNoLaterThanTheWait) {
  const auto folder = testing::trace_folder();
  if (!folder) GTEST_SKIP() << "WARPLOOM_DATA is not set: no real profiles";
  for (const std::string form : {"text", "db"}) {
    const Capture capture = read_one(*folder + "ascend_msinsight/pytorch/" + form + "/level1/rank0_ascend_pt");
    std::int64_t inferred = 0;
    std::int64_t recorded = 0;
    for (const auto& edge : capture.device_edges) {
      const DeviceOp& from = capture.device_ops[edge.from];
      const DeviceOp& to = capture.device_ops[edge.to];
      (edge.is_inferred ? inferred : recorded) += 1;
      if (!edge.is_inferred) continue;
      EXPECT_NE(from.stream, to.stream);
      EXPECT_LE(from.end(), to.end());
      if (to.duration > 1000) {
        EXPECT_LT(to.end() - from.end(), 1000);
      }
    }
    EXPECT_EQ(inferred, 10) << form;
    EXPECT_EQ(recorded, 8) << form;  // before and after each of the four collectives, on their stream
  }
}

TEST(AscendOracle, ATraceViewAloneIsRecognisedByItsContent) {
  const auto folder = testing::trace_folder();
  if (!folder) GTEST_SKIP() << "WARPLOOM_DATA is not set: no real profiles";
  const Capture capture = read_one(*folder +
                                   "ascend_msinsight/pytorch/text/level0/rank1_ascend_pt/ASCEND_PROFILER_OUTPUT/"
                                   "trace_view.json.gz");
  EXPECT_EQ(capture.format, "ascend");
  EXPECT_EQ(capture.collectives.size(), 4U);
  EXPECT_EQ(capture.event_count, 8394);
  EXPECT_EQ(capture.hand_offs.size(), 159U + 27U);
}

}  // namespace
}  // namespace warploom
