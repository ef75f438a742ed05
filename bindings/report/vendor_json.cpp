// SPDX-License-Identifier: Apache-2.0
// Sums over the processes of a report, and unions over the kinds of an Ascend profile.
#include "bindings/report/vendor_json.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "bindings/report/capture_json.hpp"

namespace warploom {

namespace {

using Json = nlohmann::ordered_json;

std::string fact(const Capture& capture, const std::string& name) {
  const auto place = capture.facts.find(name);
  return place == capture.facts.end() ? std::string() : place->second;
}

std::int64_t rows(std::span<const Capture* const> captures, std::initializer_list<const char*> tables) {
  std::int64_t sum = 0;
  for (const Capture* capture : captures) {
    for (const char* table : tables) {
      const auto place = capture->events_by_category.find(table);
      if (place != capture->events_by_category.end()) sum += place->second;
    }
  }
  return sum;
}

// Ids that more than one call has: a join by them alone would be wrong.
std::int64_t shared_correlations(std::span<const Capture* const> captures) {
  std::unordered_map<std::uint64_t, std::int64_t> calls;
  for (const Capture* capture : captures) {
    for (const auto& call : capture->calls) ++calls[call.correlation];
  }
  return std::count_if(calls.begin(), calls.end(), [](const auto& id) { return id.second > 1; });
}

// All work of the report on one device, as one capture's.
Capture on_device(std::span<const Capture* const> captures, std::int64_t device) {
  Capture together;
  std::map<std::string, std::uint32_t> streams;
  for (const Capture* capture : captures) {
    for (DeviceOp op : capture->device_ops) {
      const auto& stream = capture->streams[op.stream];
      if (stream.device != device) continue;
      const auto [place, is_new] = streams.emplace(stream.name, static_cast<std::uint32_t>(together.streams.size()));
      if (is_new) together.streams.push_back(stream);
      op.stream = place->second;
      op.name = together.texts.add(capture->texts[op.name]);
      op.launch = op.host_op = op.collective = nothing;
      together.device_ops.push_back(op);
    }
  }
  std::stable_sort(together.device_ops.begin(), together.device_ops.end(), [](const DeviceOp& a, const DeviceOp& b) {
    return a.start != b.start ? a.start < b.start : a.duration > b.duration;
  });
  return together;
}

Json device_json(std::span<const Capture* const> captures, std::int64_t device) {
  const Capture together = on_device(captures, device);
  const CaptureMetrics metrics = measure(together);
  const Json whole = capture_json(together, metrics);
  Json json = whole["device_span"].is_null() ? Json::object() : whole["device_span"];
  json["device"] = device;
  json["counts"] = whole["class_counts"];
  json["globalPids"] = Json::array();
  for (const Capture* capture : captures) {
    const bool works = std::any_of(capture->device_ops.begin(), capture->device_ops.end(), [&](const DeviceOp& op) {
      return capture->streams[op.stream].device == device && is_work(op);
    });
    if (!works || fact(*capture, "globalPid").empty()) continue;
    json["globalPids"].push_back(std::stoll(fact(*capture, "globalPid")));
  }
  json["sum_dur_us"] = whole["sum_dur_us"];
  json["per_stream"] = whole["per_stream"];
  for (auto& stream : json["per_stream"]) {
    const std::string name = stream["stream"];
    if (!name.empty() && name.size() < 18 &&
        std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; })) {
      stream["stream"] = std::stoll(name);
    }
  }
  return json;
}

// The delays of all processes together.
Json delays_json(std::span<const Capture* const> captures) {
  std::vector<Nanoseconds> delays;
  for (const Capture* capture : captures) {
    for (const auto& op : capture->device_ops) {
      if (is_work(op) && op.launch != nothing) delays.push_back(op.start - capture->calls[op.launch].start);
    }
  }
  std::sort(delays.begin(), delays.end());
  Json json;
  if (!delays.empty()) {
    json["min"] = microseconds(delays.front());
    json["median"] = microseconds(delays[delays.size() / 2]);
    json["max"] = microseconds(delays.back());
  }
  json["n_negative"] = std::lower_bound(delays.begin(), delays.end(), 0) - delays.begin();
  return json;
}

}  // namespace

Json nsight_json(std::span<const Capture* const> captures) {
  const Capture& first = *captures.front();
  Json json;
  json["file"] = first.file;
  json["format"] = first.format;
  json["product_version"] = fact(first, "product_version").empty() ? Json() : Json(fact(first, "product_version"));
  json["schema"] = fact(first, "schema").empty() ? Json() : Json(fact(first, "schema"));
  json["gpus"] = nullptr;
  std::set<std::int64_t> devices;
  std::int64_t without_runtime = 0;
  std::int64_t graph_kernels = 0;
  std::map<std::int64_t, std::string> gpus;
  for (const Capture* capture : captures) {
    for (const auto& device : capture->devices) gpus.emplace(device.id, device.name);
    without_runtime += count_links(*capture).without_call;
    for (const auto& op : capture->device_ops) {
      if (is_work(op)) devices.insert(capture->streams[op.stream].device);
      if (op.graph_node >= 0) ++graph_kernels;
    }
  }
  if (!gpus.empty()) {
    json["gpus"] = Json::array();
    for (const auto& [id, name] : gpus) json["gpus"].push_back(name);
  }
  json["kernel_rows"] = rows(captures, {"CUPTI_ACTIVITY_KIND_KERNEL"});
  json["memcpy_rows"] = rows(captures, {"CUPTI_ACTIVITY_KIND_MEMCPY"});
  json["memset_rows"] = rows(captures, {"CUPTI_ACTIVITY_KIND_MEMSET"});
  json["runtime_rows"] = rows(captures, {"CUPTI_ACTIVITY_KIND_RUNTIME"});
  json["nvtx_rows"] = rows(captures, {"NVTX_EVENTS"});
  json["runtime_correlation_ids_shared_by_processes"] = shared_correlations(captures);
  json["graph_kernels"] = graph_kernels;
  json["device_events_without_runtime"] = without_runtime;
  json["launch_delay_us"] = delays_json(captures);
  json["per_device"] = Json::array();
  for (const auto device : devices) json["per_device"].push_back(device_json(captures, device));
  json["processes"] = Json::array();
  for (const Capture* capture : captures) json["processes"].push_back(capture_json(*capture, measure(*capture)));
  return json;
}

void add_ascend(const Capture& capture, const CaptureMetrics& metrics, Json& json) {
  std::vector<DeviceOp> without_copies;
  for (const auto& op : capture.device_ops) {
    if (is_work(op) && work_kind(op) != WorkKind::memory) without_copies.push_back(op);
  }
  if (!without_copies.empty()) {
    Interval span{without_copies.front().start, without_copies.front().end()};
    for (const auto& op : without_copies) span = {std::min(span.begin, op.start), std::max(span.end, op.end())};
    const WindowMetrics window = window_metrics(without_copies, span);
    Json one;
    one["computing_union_us"] = microseconds(window.unions[0]);
    one["communication_union_us"] = microseconds(window.unions[1]);
    one["overlapped_us"] = microseconds(window.overlap);
    one["communication_not_overlapped_us"] = microseconds(window.exposed_to_compute);
    one["device_span_us"] = microseconds(span.length());
    one["free_in_device_span_us"] = microseconds(window.idle());
    one["n_kernel_rows"] = metrics.count[0] + metrics.count[1];
    one["n_hccl_ops"] = metrics.count[1];
    json["recomputed"] = std::move(one);
  }
  std::map<std::string, std::int64_t> by_core;
  for (const auto& detail : capture.details) {
    if (detail.core != nothing) ++by_core[std::string(capture.texts[detail.core])];
  }
  if (metrics.count[1] > 0) by_core["HCCL"] = metrics.count[1];
  json["kernel_rows_by_core"] = by_core;
  json["hccl_ops"] = Json::array();
  struct Tasks {
    std::int64_t count = 0;
    Nanoseconds sum = 0;
    std::vector<Interval> intervals;
  };
  std::map<std::string, Tasks> streams;
  for (const auto& op : capture.device_ops) {
    if (op.op_class == OpClass::communication && op.collective != nothing) {
      const auto& record = capture.collectives[op.collective];
      Json one;
      one["name"] = capture.texts[op.name];
      one["start_us"] = microseconds(op.start);
      one["dur_us"] = microseconds(op.duration);
      one["args"]["data_type"] = capture.texts[record.type];
      one["args"]["alg_type"] = capture.texts[record.algorithm];
      one["args"]["count"] = record.in_elements;
      if (record.transfer >= 0) one["transit_us"] = microseconds(record.transfer);
      json["hccl_ops"].push_back(std::move(one));
      continue;
    }
    auto& tasks = streams[capture.streams[op.stream].name];
    ++tasks.count;
    tasks.sum += op.duration;
    tasks.intervals.push_back({op.start, op.end()});
  }
  json["hw_streams"] = Json::object();
  for (auto& [name, tasks] : streams) {
    Json one;
    one["n"] = tasks.count;
    one["sum_us"] = microseconds(tasks.sum);
    one["union_us"] = microseconds(IntervalSet(std::move(tasks.intervals)).length());
    json["hw_streams"][name] = std::move(one);
  }
  for (const auto& [name, value] : capture.facts) {
    constexpr std::string_view prefix = "step_trace_time ";
    if (!name.starts_with(prefix)) continue;
    const auto column = name.find(' ', prefix.size());
    if (column == std::string::npos) continue;
    json["step_trace_time_csv"]["Step"] = name.substr(prefix.size(), column - prefix.size());
    json["step_trace_time_csv"][name.substr(column + 1)] = std::strtod(value.c_str(), nullptr);
  }
}

}  // namespace warploom
