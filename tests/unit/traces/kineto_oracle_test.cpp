// SPDX-License-Identifier: Apache-2.0
// Real Kineto traces against the truth_*.json beside them (WARPLOOM_DATA): counts, sums and joins of every trace that
// is there.
#include <gtest/gtest.h>
#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "sim/core/errors.hpp"
#include "traces/link.hpp"
#include "traces/readers.hpp"

namespace warploom {
namespace {

namespace fs = std::filesystem;
using simdjson::dom::element;

std::optional<fs::path> traces() {
  const char* data = std::getenv("WARPLOOM_DATA");
  if (data == nullptr) return std::nullopt;
  const fs::path folder = fs::path(data) / "traces";
  return fs::exists(folder) ? std::optional(folder) : std::nullopt;
}

std::int64_t ns(const element& us) { return std::llround(us.get_double().value() * 1000); }

// Names and counts, as a JSON object has them.
std::map<std::string, std::int64_t> counts(const element& object) {
  std::map<std::string, std::int64_t> result;
  for (const auto& [key, value] : object.get_object()) {
    if (const auto count = value.get_int64().value(); count != 0) result[std::string(key)] = count;
  }
  return result;
}

std::string kind_name(const DeviceOp& op) {
  return op.kind == DeviceOpKind::kernel ? "kernel" : op.kind == DeviceOpKind::copy ? "memcpy" : "memset";
}
std::string class_name(const DeviceOp& op) {
  if (op.kind != DeviceOpKind::kernel) return "mem";
  return op.op_class == OpClass::communication ? "comm" : "compute";
}

void expect_events(const Capture& capture, const element& truth) {
  EXPECT_EQ(capture.event_count, truth["n_trace_events"].get_int64().value());
  EXPECT_EQ(capture.events_by_category, counts(truth["complete_event_counts"]));
  if (!truth["rank"].is_null()) {
    EXPECT_EQ(capture.rank, truth["rank"].get_int64().value());
  }
  if (!truth["world_size"].is_null()) {
    EXPECT_EQ(capture.world_size, truth["world_size"].get_int64().value());
  }
  if (!truth["cpu_span_us"].is_null()) {
    ASSERT_TRUE(capture.host_span.has_value());
    EXPECT_EQ(capture.host_span->second - capture.host_span->first, ns(truth["cpu_span_us"]));
  }
  EXPECT_EQ(capture.base_time.has_value(), !truth["baseTimeNanoseconds"].is_null());
  if (capture.base_time) {
    EXPECT_EQ(*capture.base_time, truth["baseTimeNanoseconds"].get_int64().value());
  }
  std::set<std::string> names;
  for (const auto& device : capture.devices) names.insert(device.name);
  std::set<std::string> expected;
  for (const element name : truth["device_names"]) expected.emplace(name.get_string().value());
  EXPECT_EQ(names, expected);
}

void expect_work(const Capture& capture, const element& truth) {
  std::map<std::string, std::int64_t> kinds, classes, sums;
  std::set<std::string> devices;
  for (const auto& op : capture.device_ops) {
    ++kinds[kind_name(op)];
    ++classes[class_name(op)];
    sums[class_name(op)] += op.duration;
    devices.insert(std::to_string(capture.streams[op.stream].device));
  }
  EXPECT_EQ(kinds, counts(truth["device_event_counts"]));
  EXPECT_EQ(classes, counts(truth["class_counts"]));
  for (const auto& [name, sum] : truth["sum_dur_us"].get_object()) EXPECT_EQ(sums[std::string(name)], ns(sum)) << name;
  std::set<std::string> expected;
  for (const element device : truth["devices_with_work"]) expected.emplace(device.get_string().value());
  EXPECT_EQ(devices, expected);
}

struct StreamWork {
  std::int64_t count = 0, sum = 0, united = 0, overlaps = 0;
  std::map<std::string, std::int64_t> classes;
  Nanoseconds end = std::numeric_limits<Nanoseconds>::min();
};

void expect_streams(const Capture& capture, const element& truth) {
  std::map<std::pair<std::string, std::string>, StreamWork> streams;  // operations come in the order of their starts
  for (const auto& op : capture.device_ops) {
    const auto& stream = capture.streams[op.stream];
    StreamWork& work = streams[{std::to_string(stream.device), stream.name}];
    ++work.count;
    ++work.classes[class_name(op)];
    work.sum += op.duration;
    if (op.start < work.end) ++work.overlaps;
    work.united += std::max<Nanoseconds>(op.end() - std::max(op.start, work.end), 0);
    work.end = std::max(work.end, op.end());
  }
  std::size_t count = 0;
  for (const element entry : truth["per_stream"]) {
    const StreamWork& work =
        streams[{std::string(entry["device"].get_string().value()), std::string(entry["stream"].get_string().value())}];
    EXPECT_EQ(work.count, entry["n"].get_int64().value());
    EXPECT_EQ(work.sum, ns(entry["sum_us"]));
    EXPECT_EQ(work.united, ns(entry["union_us"]));
    EXPECT_EQ(work.overlaps, entry["in_stream_overlaps"].get_int64().value());
    for (const char* name : {"compute", "comm", "mem"}) {
      const auto of_class = work.classes.find(name);
      EXPECT_EQ(of_class == work.classes.end() ? 0 : of_class->second,
                entry[std::string("n_") + name].get_int64().value());
    }
    ++count;
  }
  EXPECT_EQ(streams.size(), count);
}

void expect_joins(const Capture& capture, const element& truth) {
  const LaunchLinks links = count_links(capture);
  EXPECT_EQ(links.without_call, truth["device_events_without_runtime"].get_int64().value());
  EXPECT_EQ(links.repeated_calls, truth["duplicate_runtime_correlation"].get_int64().value());
  EXPECT_EQ(links.graph_launches, truth["graph_launches"].get_int64().value());
  EXPECT_EQ(links.from_graphs, truth["device_events_from_graph_launch"].get_int64().value());
  EXPECT_EQ(capture.repairs.count("negative_duration"), truth["negative_dur"].get_int64().value());
  EXPECT_EQ(std::count_if(capture.device_ops.begin(), capture.device_ops.end(),
                          [](const DeviceOp& op) { return op.duration == 0; }),
            truth["zero_dur_device"].get_int64().value());
  std::vector<Nanoseconds> delays;
  for (const auto& op : capture.device_ops) {
    if (op.launch != nothing) delays.push_back(op.start - capture.calls[op.launch].start);
  }
  element truth_delay = truth["launch_delay_us"];
  if (delays.empty()) return;
  std::sort(delays.begin(), delays.end());
  EXPECT_EQ(delays.front(), ns(truth_delay["min"]));
  EXPECT_EQ(delays.back(), ns(truth_delay["max"]));
  EXPECT_EQ(delays[delays.size() / 2], ns(truth_delay["median"]));
  EXPECT_EQ(std::count_if(delays.begin(), delays.end(), [](Nanoseconds delay) { return delay < 0; }),
            truth_delay["n_negative"].get_int64().value());
}

// Captures of an archive by their names, of a file by its own.
Capture* find(std::map<std::string, std::vector<Capture>>& read, const fs::path& folder, const std::string& file) {
  const std::string path = (folder / file.substr(0, file.find('!'))).string();
  if (!fs::exists(path)) return nullptr;
  if (!read.contains(path)) {
    const std::vector<std::string> paths{path};
    read[path] = read_traces(paths).captures;
  }
  for (auto& capture : read[path]) {
    if (capture.file == (folder / file).string()) return &capture;
  }
  return nullptr;
}

class KinetoOracle : public ::testing::TestWithParam<const char*> {};

TEST_P(KinetoOracle, EveryNumberOfTheTruthIsFound) {
  const auto folder = traces();
  if (!folder) GTEST_SKIP() << "WARPLOOM_DATA is not set";
  simdjson::dom::parser parser;
  const element truth = parser.load((*folder / (std::string("truth_") + GetParam() + ".json")).string());
  std::map<std::string, std::vector<Capture>> read;
  int checked = 0;
  for (const element entry : truth["traces"]) {
    const std::string file(entry["file"].get_string().value());
    const bool is_tracelens = file.starts_with("h100/") || file.starts_with("mi300/");
    Capture* capture = find(read, is_tracelens ? *folder / "tracelens" / "traces" : *folder, file);
    if (capture == nullptr) continue;  // not among the files here
    SCOPED_TRACE(file);
    expect_events(*capture, entry);
    expect_work(*capture, entry);
    expect_streams(*capture, entry);
    expect_joins(*capture, entry["integrity"]);
    EXPECT_TRUE(capture->repairs.all().empty()) << capture->repairs.all().front().name;
    ++checked;
  }
  EXPECT_GT(checked, 0);
}

INSTANTIATE_TEST_SUITE_P(Truth, KinetoOracle,
                         ::testing::Values("megatron_tp8_a100", "dlrm8_v100", "hta_nccl2_a100",
                                           "hta_ns_resolution_v100", "hta_sampled_ranks_of128", "hta_small",
                                           "kineto_resnet50_v100", "tracelens_h100_vs_mi300"),
                         [](const auto& info) { return std::string(info.param); });

TEST(KinetoTraces, EveryOtherFileIsReadOrRefusedWithAReason) {
  const auto folder = traces();
  if (!folder) GTEST_SKIP() << "WARPLOOM_DATA is not set";
  int read = 0;
  for (const auto* part : {"hta", "kineto", "tracelens", "astra_history", "param"}) {
    for (const auto& entry : fs::recursive_directory_iterator(*folder / part)) {
      if (!entry.is_regular_file()) continue;
      const std::vector<std::string> paths{entry.path().string()};
      try {
        read += static_cast<int>(read_traces(paths).captures.size());
      } catch (const UserError& error) {
        EXPECT_NE(error.message().find(entry.path().filename().string()), std::string::npos) << error.message();
      }
    }
  }
  EXPECT_GT(read, 50);
}

}  // namespace
}  // namespace warploom
