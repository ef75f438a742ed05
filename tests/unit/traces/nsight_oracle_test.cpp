// SPDX-License-Identifier: Apache-2.0
// Real Nsight Systems exports against truth_nsys.json (WARPLOOM_DATA): all numbers of all its entries that are there.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "tests/support/vendor_truth.hpp"
#include "traces/readers.hpp"

namespace warploom {
namespace {

using testing::Intervals;
using testing::length;
using testing::ns;
using testing::overlap;

struct DeviceWork {
  Intervals compute, communication, memory, all;
  std::map<std::string, Intervals> by_stream;
  std::map<std::string, std::int64_t> sums;
};

std::int64_t sum(const Intervals& intervals) {
  std::int64_t total = 0;
  for (const auto& [begin, end] : intervals) total += end - begin;
  return total;
}

std::map<std::int64_t, DeviceWork> work_by_device(const std::vector<Capture>& captures) {
  std::map<std::int64_t, DeviceWork> result;
  for (const auto& capture : captures) {
    for (const auto& op : capture.device_ops) {
      if (op.kind == DeviceOpKind::graph) continue;  // the oracle counts kernels and copies
      DeviceWork& work = result[capture.streams[op.stream].device];
      const std::pair interval(op.start, op.end());
      work.all.push_back(interval);
      work.by_stream[capture.streams[op.stream].name].push_back(interval);
      (op.kind != DeviceOpKind::kernel         ? work.memory
       : op.op_class == OpClass::communication ? work.communication
                                               : work.compute)
          .push_back(interval);
    }
  }
  return result;
}

void expect_device(const DeviceWork& work, const simdjson::dom::element& truth) {
  const auto us = [&](const char* key) { return ns(truth[key].get_double().value()); };
  const Intervals united = testing::united(work.all);
  EXPECT_EQ(united.front().first, us("start_us"));
  EXPECT_EQ(united.back().second - united.front().first, us("wall_us"));
  EXPECT_EQ(length(work.all), us("busy_us"));
  EXPECT_EQ(length(work.compute), us("compute_union_us"));
  EXPECT_EQ(length(work.communication), us("comm_union_us"));
  EXPECT_EQ(length(work.memory), us("mem_union_us"));
  EXPECT_EQ(overlap(work.communication, work.compute), us("comm_compute_overlap_us"));
  EXPECT_EQ(sum(work.compute), ns(truth["sum_dur_us"]["compute"].get_double().value()));
  EXPECT_EQ(sum(work.communication), ns(truth["sum_dur_us"]["comm"].get_double().value()));
  EXPECT_EQ(sum(work.memory), ns(truth["sum_dur_us"]["mem"].get_double().value()));
  std::size_t streams = 0;
  for (const auto stream : truth["per_stream"]) {
    const auto& mine = work.by_stream.at(std::to_string(stream["stream"].get_int64().value()));
    EXPECT_EQ(static_cast<std::int64_t>(mine.size()), stream["n"].get_int64().value());
    EXPECT_EQ(sum(mine), ns(stream["sum_us"].get_double().value()));
    EXPECT_EQ(length(mine), ns(stream["union_us"].get_double().value()));
    ++streams;
  }
  EXPECT_EQ(work.by_stream.size(), streams);
}

std::int64_t category(const std::vector<Capture>& captures, const std::string& table) {
  std::int64_t count = 0;
  for (const auto& capture : captures) {
    const auto place = capture.events_by_category.find(table);
    if (place != capture.events_by_category.end()) count += place->second;
  }
  return count;
}

void expect_file(const std::vector<Capture>& captures, const simdjson::dom::element& truth) {
  const auto number = [&](const char* key) { return truth[key].get_int64().value(); };
  EXPECT_EQ(category(captures, "CUPTI_ACTIVITY_KIND_KERNEL"), number("kernel_rows"));
  EXPECT_EQ(category(captures, "CUPTI_ACTIVITY_KIND_MEMCPY"), number("memcpy_rows"));
  EXPECT_EQ(category(captures, "CUPTI_ACTIVITY_KIND_MEMSET"), number("memset_rows"));
  EXPECT_EQ(category(captures, "CUPTI_ACTIVITY_KIND_RUNTIME"), number("runtime_rows"));
  EXPECT_EQ(category(captures, "NVTX_EVENTS"), number("nvtx_rows"));
  if (!truth["product_version"].is_null()) {
    EXPECT_EQ(captures[0].facts.at("product_version"), truth["product_version"].get_string().value());
    EXPECT_EQ(captures[0].facts.at("schema"), truth["schema"].get_string().value());
  }
  std::set<std::string> gpus;
  for (const auto& capture : captures) {
    for (const auto& device : capture.devices) gpus.insert(device.name);
  }
  std::set<std::string> expected;
  if (!truth["gpus"].is_null()) {
    for (const auto gpu : truth["gpus"]) expected.emplace(gpu.get_string().value());
  }
  EXPECT_EQ(gpus, expected);
}

// A launch is joined within its process alone: all that the oracle finds, none beyond.
void expect_launches(const std::vector<Capture>& captures, const simdjson::dom::element& truth) {
  std::vector<std::int64_t> delays;
  std::int64_t orphans = 0;
  for (const auto& capture : captures) {
    for (const auto& op : capture.device_ops) {
      if (op.kind == DeviceOpKind::graph) continue;
      if (op.launch == nothing) {
        ++orphans;
      } else {
        delays.push_back(op.start - capture.calls[op.launch].start);
      }
    }
  }
  EXPECT_EQ(orphans, truth["device_events_without_runtime"].get_int64().value());
  std::sort(delays.begin(), delays.end());
  const auto& delay = truth["launch_delay_us"];
  ASSERT_FALSE(delays.empty());
  EXPECT_EQ(delays.front(), ns(delay["min"].get_double().value()));
  EXPECT_EQ(delays.back(), ns(delay["max"].get_double().value()));
  EXPECT_EQ(delays[delays.size() / 2], ns(delay["median"].get_double().value()));  // the upper of two middles
}

TEST(NsightOracle, EveryNumberOfTheTruthFileIsReproducedFromEveryReport) {
  const auto folder = testing::trace_folder();
  if (!folder) GTEST_SKIP() << "WARPLOOM_DATA is not set: no real reports";
  simdjson::dom::parser parser;
  const auto truth = parser.load(*folder + "truth_nsys.json").value();
  int compared = 0;
  for (const auto entry : truth["traces"]) {
    const std::string path = *folder + std::string(entry["file"].get_string().value());
    if (!std::filesystem::exists(path)) continue;
    SCOPED_TRACE(path);
    const auto read = read_traces(std::vector<std::string>{path});
    expect_file(read.captures, entry);
    expect_launches(read.captures, entry);
    const auto work = work_by_device(read.captures);
    for (const auto device : entry["per_device"]) {
      SCOPED_TRACE(device["device"].get_int64().value());
      expect_device(work.at(device["device"].get_int64().value()), device);
    }
    ++compared;
  }
  EXPECT_GE(compared, 5);
}

TEST(NsightOracle, TheReportsRanksAreTheirDevicesInOrder) {
  const auto folder = testing::trace_folder();
  if (!folder) GTEST_SKIP() << "WARPLOOM_DATA is not set: no real reports";
  const auto read = read_traces(std::vector<std::string>{*folder + "nsys/nsysai_mfu_2gpu_before.c8f71e.sqlite.gz"});
  ASSERT_EQ(read.captures.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(read.captures[i].rank, static_cast<std::int64_t>(i));
    EXPECT_EQ(read.captures[i].streams[0].device, static_cast<std::int64_t>(i));
    EXPECT_GT(read.captures[i].host_ops.size(), 1000U);
  }
}

}  // namespace
}  // namespace warploom
