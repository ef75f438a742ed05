// SPDX-License-Identifier: Apache-2.0
// The keys of a capture.
#include "bindings/report/capture_json.hpp"

#include <fmt/format.h>

#include <cmath>

namespace warploom {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_kernels = 20;

template <class Values>
Json by_kind(const Values& values) {
  Json json = Json::object();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0) json[std::string(work_kind_names[i])] = values[i];
  }
  return json;
}

Json sums_by_kind(const ByWork& sums) {
  Json json;
  for (std::size_t i = 0; i < sums.size(); ++i) json[std::string(work_kind_names[i])] = microseconds(sums[i]);
  return json;
}

Json window_json(const WindowMetrics& metrics) {
  Json json;
  json["start_us"] = microseconds(metrics.window.begin);
  json["wall_us"] = microseconds(metrics.window.length());
  json["busy_us"] = microseconds(metrics.busy);
  json["idle_us"] = microseconds(metrics.idle());
  json["compute_union_us"] = microseconds(metrics.unions[0]);
  json["comm_union_us"] = microseconds(metrics.unions[1]);
  json["mem_union_us"] = microseconds(metrics.unions[2]);
  json["comm_compute_overlap_us"] = microseconds(metrics.overlap);
  json["exposed_comm_vs_compute_us"] = microseconds(metrics.exposed_to_compute);
  json["exposed_comm_vs_any_us"] = microseconds(metrics.exposed_to_any);
  if (metrics.unions[1] > 0) {
    const double share = 100.0 * static_cast<double>(metrics.overlap) / static_cast<double>(metrics.unions[1]);
    json["overlap_pct_HTA"] = std::round(share * 1000) / 1000;
  } else {
    json["overlap_pct_HTA"] = nullptr;
  }
  json["n_events_intersecting"] = by_kind(metrics.count);
  return json;
}

Json launched_json(const LaunchedMetrics& launched) {
  Json json;
  json["counts"] = by_kind(launched.count);
  json["first_start_us"] = microseconds(launched.span.begin);
  json["last_end_us"] = microseconds(launched.span.end);
  json["span_us"] = microseconds(launched.span.length());
  json["busy_us"] = microseconds(launched.busy);
  json["sum_compute_us"] = microseconds(launched.sums[0]);
  json["sum_comm_us"] = microseconds(launched.sums[1]);
  json["sum_mem_us"] = microseconds(launched.sums[2]);
  return json;
}

Json steps_json(const CaptureMetrics& metrics) {
  Json json = Json::array();
  for (const auto& step : metrics.steps) {
    Json one = window_json(step.time);
    one["step"] = step.number;
    if (step.launched.count != std::array<std::int64_t, 3>{}) one["by_launch"] = launched_json(step.launched);
    json.push_back(std::move(one));
  }
  return json;
}

Json streams_json(const CaptureMetrics& metrics) {
  Json json = Json::array();
  for (const auto& stream : metrics.streams) {
    Json one;
    one["device"] = std::to_string(stream.device);
    one["stream"] = stream.stream;
    one["n"] = stream.count[0] + stream.count[1] + stream.count[2];
    for (std::size_t i = 0; i < 3; ++i) one["n_" + std::string(work_kind_names[i])] = stream.count[i];
    one["sum_us"] = microseconds(stream.sum);
    one["union_us"] = microseconds(stream.united);
    one["first_start_us"] = microseconds(stream.span.begin);
    one["last_end_us"] = microseconds(stream.span.end);
    one["in_stream_overlaps"] = stream.overlaps;
    one["max_in_stream_overlap_us"] = microseconds(stream.largest_overlap);
    json.push_back(std::move(one));
  }
  return json;
}

Json delay_json(const Delay& delay) {
  Json json;
  if (delay.count > 0) {
    json["min"] = microseconds(delay.least);
    json["median"] = microseconds(delay.median);
    json["max"] = microseconds(delay.most);
  }
  json["n_negative"] = delay.negative;
  return json;
}

Json integrity_json(const Capture& capture, const CaptureMetrics& metrics) {
  Json json;
  json["device_events_without_runtime"] = metrics.links.without_call;
  json["negative_dur"] = capture.repairs.count("negative_duration");
  json["zero_dur_device"] = metrics.zero_durations;
  std::int64_t overlaps = 0;
  for (const auto& stream : metrics.streams) overlaps += stream.overlaps;
  json["in_stream_overlaps"] = overlaps;
  json["duplicate_runtime_correlation"] = metrics.links.repeated_calls;
  json["launch_delay_us"] = delay_json(metrics.launch_delay);
  json["graph_launches"] = metrics.links.graph_launches;
  json["device_events_from_graph_launch"] = metrics.links.from_graphs;
  return json;
}

Json kernels_json(const Capture& capture, const std::vector<KernelSum>& kernels) {
  Json json = Json::array();
  for (const auto& kernel : kernels) {
    if (json.size() == most_kernels) break;
    Json one;
    one["name"] = capture.texts[kernel.name];
    one["n"] = kernel.count;
    one["sum_us"] = microseconds(kernel.sum);
    json.push_back(std::move(one));
  }
  return json;
}

Json gaps_json(const std::vector<StepMetrics>& steps) {
  Json json = Json::array();
  for (std::size_t i = 1; i < steps.size(); ++i) {
    json.push_back(microseconds(steps[i].time.window.begin - steps[i - 1].time.window.end));
  }
  return json;
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace

Json microseconds(Nanoseconds time) {
  if (time % 1000 == 0) return static_cast<double>(time / 1000);
  // Three decimals of such a number are what was written, unless it is an epoch of 10^15 us with a fraction.
  const double value = static_cast<double>(time) / 1000.0;
  if (std::abs(value) < 4.0e12) return value;
  const bool negative = time < 0;
  const auto size = negative ? -static_cast<std::uint64_t>(time) : static_cast<std::uint64_t>(time);
  return fmt::format("{}{}.{:03}", negative ? "-" : "", size / 1000, size % 1000);
}

Json repairs_json(const Repairs& repairs) {
  Json json = Json::array();
  for (const auto& repair : repairs.all()) {
    Json one;
    one["name"] = repair.name;
    one["count"] = repair.count;
    one["what"] = repair.text;
    one["first"] = repair.first;
    one["largest_us"] = microseconds(repair.largest);
    json.push_back(std::move(one));
  }
  return json;
}

Json edges_json(const EdgeCounts& edges) {
  Json json;
  json["recorded"] = edges.recorded;
  json["ordered"] = edges.ordered;
  json["inferred"] = edges.inferred;
  json["contradicted"] = edges.contradicted;
  json["timed_gaps"] = edges.timed_gaps;
  return json;
}

Json ranks_json(const SelfReplay& self) {
  Json json = Json::array();
  for (const auto& rank : self.ranks) {
    Json one;
    one["rank"] = or_null(rank.rank);
    one["span_us_measured"] = microseconds(rank.measured.length());
    one["span_us_replayed"] = microseconds(rank.replayed.length());
    one["span_error"] = rank.span_error();
    one["start_error_us_p50"] = microseconds(rank.start_error_p50);
    one["start_error_us_p95"] = microseconds(rank.start_error_p95);
    one["start_error_us_max"] = microseconds(rank.start_error_max);
    one["exposed_comm_us_replayed"] = microseconds(rank.exposed_communication);
    json.push_back(std::move(one));
  }
  return json;
}

Json capture_json(const Capture& capture, const CaptureMetrics& metrics) {
  Json json;
  json["file"] = capture.file;
  json["format"] = capture.format;
  json["n_trace_events"] = capture.event_count;
  json["rank"] = or_null(capture.rank);
  if (capture.rank_in_name) json["rank_in_name"] = *capture.rank_in_name;
  json["world_size"] = or_null(capture.world_size);
  json["baseTimeNanoseconds"] = or_null(capture.base_time);
  json["resolution_ns"] = capture.resolution;
  json["truncated"] = capture.is_truncated;
  json["device_names"] = Json::array();
  for (const auto& device : capture.devices) {
    const Json name = device.name;
    if (std::find(json["device_names"].begin(), json["device_names"].end(), name) == json["device_names"].end()) {
      json["device_names"].push_back(name);
    }
  }
  json["complete_event_counts"] = capture.events_by_category;
  json["devices_with_work"] = Json::array();
  for (const auto device : metrics.devices) json["devices_with_work"].push_back(std::to_string(device));
  json["device_event_counts"] = metrics.count_by_op_kind;
  json["class_counts"] = by_kind(metrics.count);
  json["sum_dur_us"] = sums_by_kind(metrics.sums);
  json["device_span"] = metrics.device_span ? window_json(*metrics.device_span) : Json(nullptr);
  json["cpu_span_us"] = microseconds(metrics.host_span);
  json["steps"] = steps_json(metrics);
  json["step_gap_us"] = gaps_json(metrics.steps);
  json["per_stream"] = streams_json(metrics);
  json["integrity"] = integrity_json(capture, metrics);
  json["idle_us"]["host"] = microseconds(metrics.idle.host);
  json["idle_us"]["kernel"] = microseconds(metrics.idle.kernel);
  json["idle_us"]["other"] = microseconds(metrics.idle.other);
  json["top_kernels"] = kernels_json(capture, metrics.kernels);
  Json names = Json::object();
  for (const auto& kernel : metrics.communication) names[std::string(capture.texts[kernel.name])] = kernel.count;
  json["comm_names"] = std::move(names);
  if (!capture.facts.empty()) json["facts"] = capture.facts;
  return json;
}

}  // namespace warploom
