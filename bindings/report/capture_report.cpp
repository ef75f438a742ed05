// SPDX-License-Identifier: Apache-2.0
// The words and keys of an inspection of traces.
#include "bindings/report/capture_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bindings/report/capture_json.hpp"
#include "bindings/report/capture_words.hpp"
#include "bindings/report/vendor_json.hpp"
#include "sim/play/critical_path.hpp"
#include "sim/play/text_table.hpp"

namespace warploom {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_rows = 12;
constexpr std::size_t most_captures = 32;  // a line each
constexpr std::size_t most_blocks = 4;     // a block each: of more captures one
constexpr std::array<std::string_view, 7> class_names = {"other",        "GEMM",          "attention", "norm",
                                                         "element-wise", "communication", "copies"};

std::string head(const Capture& capture) {
  std::string text = fmt::format("{}: {}", shown_name(capture.file, 200), capture.format);
  if (const auto rank = known_rank(capture)) text += fmt::format(", rank {}", *rank);
  if (capture.world_size) text += fmt::format("{} of {}", known_rank(capture) ? "" : ", a rank", *capture.world_size);
  if (!capture.devices.empty()) text += ", " + shown_name(capture.devices.front().name, 80);
  text += fmt::format("\n  {} records, {} device operations, {} calls, {} operators", capture.event_count,
                      capture.device_ops.size(), capture.calls.size(), capture.host_ops.size());
  if (capture.resolution >= 1000) text += ", times in whole microseconds";
  if (capture.is_truncated) text += ", cut short";
  return text + "\n";
}

std::vector<std::string> window_columns(const std::string& first) {
  return {first, "time", "busy", "compute", "comm", "exposed", "copies", "idle"};
}

void add_window(TextTable& table, const std::string& name, const WindowMetrics& m) {
  const Nanoseconds wall = m.window.length();
  table.add({name, time_in_words(wall), share_in_words(m.busy, wall), share_in_words(m.unions[0], wall),
             share_in_words(m.unions[1], wall), share_in_words(m.exposed_to_any, wall),
             share_in_words(m.unions[2], wall), share_in_words(m.idle(), wall)});
}

// A line a capture, where there are several: which rank differs.
std::string captures_side_by_side(const CapturedRun& run, const std::vector<CaptureMetrics>& metrics) {
  TextTable table(window_columns("device span of"));
  for (std::size_t i = 0; i < std::min(metrics.size(), most_captures); ++i) {
    if (!metrics[i].device_span) continue;
    const auto rank = known_rank(run.captures[i]);
    add_window(table, rank ? rank_in_words(rank) : shown_name(run.captures[i].file, 60), *metrics[i].device_span);
  }
  std::string text = table.to_string();
  if (metrics.size() > most_captures) {
    text += fmt::format("  and {} more captures, see --json\n", metrics.size() - most_captures);
  }
  return text;
}

std::string windows_in_words(const CaptureMetrics& metrics) {
  TextTable table(window_columns(""));
  if (metrics.device_span) add_window(table, "device span", *metrics.device_span);
  for (std::size_t i = 0; i < std::min(metrics.steps.size(), most_rows); ++i) {
    add_window(table, metrics.steps[i].name, metrics.steps[i].time);
  }
  std::string text = table.to_string();
  if (metrics.steps.size() > most_rows) text += fmt::format("  and {} more steps\n", metrics.steps.size() - most_rows);
  return text;
}

std::string streams_in_words(const CaptureMetrics& metrics) {
  TextTable table({"stream", "operations", "sum", "union", "overlaps"});
  for (std::size_t i = 0; i < std::min(metrics.streams.size(), most_rows); ++i) {
    const auto& stream = metrics.streams[i];
    table.add({fmt::format("{} of device {}", stream.stream, stream.device),
               fmt::format("{}", stream.count[0] + stream.count[1] + stream.count[2]), time_in_words(stream.sum),
               time_in_words(stream.united), stream.overlaps > 0 ? fmt::format("{}", stream.overlaps) : "-"});
  }
  std::string text = table.to_string();
  if (metrics.streams.size() > most_rows) {
    text += fmt::format("  and {} more streams\n", metrics.streams.size() - most_rows);
  }
  return text;
}

std::string kernels_in_words(const Capture& capture, const CaptureMetrics& metrics) {
  Nanoseconds all = 0;
  for (const Nanoseconds sum : metrics.sums) all += sum;
  std::string text = "  by class: ";
  bool any = false;
  for (std::size_t i = 0; i < class_names.size(); ++i) {
    if (metrics.sum_by_class[i] == 0) continue;
    text += fmt::format("{}{} {}", any ? ", " : "", class_names[i], share_in_words(metrics.sum_by_class[i], all));
    any = true;
  }
  TextTable table({"longest kernels", "times", "sum", "share"});
  for (std::size_t i = 0; i < std::min<std::size_t>(metrics.kernels.size(), 8); ++i) {
    const auto& kernel = metrics.kernels[i];
    table.add({shown_name(capture.texts[kernel.name], 72), fmt::format("{}", kernel.count), time_in_words(kernel.sum),
               share_in_words(kernel.sum, all)});
  }
  return text + "\n" + table.to_string();
}

std::string idle_in_words(const CaptureMetrics& metrics) {
  const Nanoseconds all = metrics.idle.host + metrics.idle.kernel + metrics.idle.other;
  if (all == 0) return {};
  return fmt::format(
      "  streams stood still {}: {} not launched yet, {} between queued kernels, {} for other streams or "
      "peers\n",
      time_in_words(all), share_in_words(metrics.idle.host, all), share_in_words(metrics.idle.kernel, all),
      share_in_words(metrics.idle.other, all));
}

std::string collectives_in_words(const CapturedRun& run) {
  const auto& matching = run.matching;
  if (run.captures.size() < 2) return {};
  std::string text = fmt::format("\nCollectives: {} matched over {} captures, {} operations without a partner\n",
                                 matching.matched, run.captures.size(), matching.unmatched);
  if (matching.matched == 0) return text;
  text += fmt::format("  clocks aligned by their ends; {} are left between members\n",
                      time_in_words(matching.clock_residual));
  TextTable table({"waited for", "last to come", "others waited, summed", "waited itself", "clock"});
  const auto stragglers = find_stragglers(run);
  for (std::size_t i = 0; i < std::min(stragglers.size(), most_rows); ++i) {
    const auto& one = stragglers[i];
    table.add({rank_in_words(known_rank(run.captures[one.capture])), fmt::format("{}", one.last),
               time_in_words(one.others_waited), time_in_words(one.waited),
               fmt::format("{:+.3f} us", static_cast<double>(matching.clock_offset[one.capture]) / 1000)});
  }
  text += table.to_string();
  for (const auto& mismatch : matching.mismatches) text += "  does not fit: " + mismatch + "\n";
  return text;
}

std::string capture_in_words(const Capture& capture, const CaptureMetrics& metrics) {
  return head(capture) + windows_in_words(metrics) + idle_in_words(metrics) + streams_in_words(metrics) +
         kernels_in_words(capture, metrics);
}

// The capture that the others waited for longest; the first where none did.
std::size_t most_waited_for(const CapturedRun& run) {
  const auto stragglers = find_stragglers(run);
  return stragglers.empty() ? 0 : stragglers.front().capture;
}

std::string repairs_in_words(const CapturedRun& run) {
  std::string text;
  for (const auto& repair : run.repairs.all()) {
    text += fmt::format("  repaired: {} x {}: {} (first: {})\n", repair.count, repair.name, repair.text, repair.first);
  }
  return text;
}

std::array<Time, cause_count> path_by_cause(const CapturedRun& run) {
  std::array<Time, cause_count> sums{};
  for (const auto& part : critical_path(run.captured.program, run.timeline)) {
    sums[static_cast<std::size_t>(part.cause)] += part.end - part.begin;
  }
  return sums;
}

// The processes of a report as one entry, where its first stands.
void add_report(const CapturedRun& run, std::size_t index, Json& traces) {
  std::vector<const Capture*> processes;
  for (std::size_t i = 0; i < run.captures.size(); ++i) {
    if (run.captures[i].file != run.captures[index].file) continue;
    if (i < index) return;
    processes.push_back(&run.captures[i]);
  }
  traces.push_back(nsight_json(processes));
}

}  // namespace

std::string captures_to_text(const CapturedRun& run) {
  std::vector<CaptureMetrics> metrics;
  for (const auto& capture : run.captures) metrics.push_back(measure(capture));
  std::string text;
  if (metrics.size() > 1) text += captures_side_by_side(run, metrics) + "\n";
  if (metrics.size() <= most_blocks) {
    for (std::size_t i = 0; i < metrics.size(); ++i) text += capture_in_words(run.captures[i], metrics[i]) + "\n";
  } else {
    const std::size_t one = most_waited_for(run);
    text += capture_in_words(run.captures[one], metrics[one]);
    text += fmt::format("  (of {} captures; `warploom inspect FILE` says the same of another)\n\n", metrics.size());
  }
  if (!text.empty()) text.pop_back();
  text += collectives_in_words(run);
  if (!run.self.ranks.empty()) {
    text += "\nCritical path: " + critical_path_in_words(path_by_cause(run), run.timeline.makespan) + "\n" +
            self_replay_in_words(run);
  } else {
    text += repairs_in_words(run);
  }
  for (const auto& skipped : run.skipped) text += fmt::format("  no trace, passed over: {}\n", skipped);
  return text;
}

std::string critical_path_in_words(const std::array<Time, cause_count>& by_cause, Time whole) {
  std::string text;
  for (std::size_t i = 0; i < by_cause.size(); ++i) {
    if (by_cause[i] == Time::zero()) continue;
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", cause_names[i], share_in_words(by_cause[i].ps(), whole.ps()));
  }
  return text;
}

std::string self_replay_in_words(const CapturedRun& run) {
  Nanoseconds p50 = 0;
  for (const auto& rank : run.self.ranks) p50 = std::max(p50, rank.start_error_p50);
  std::string text = fmt::format(
      "\nReplayed unchanged: spans within {:.3f}%, half of all starts within {}\n"
      "  dependencies: {} recorded, {} by order, {} inferred ({} more contradicted by the capture), {} timed gaps\n",
      100 * run.self.error, time_in_words(p50), run.edges.recorded, run.edges.ordered, run.edges.inferred,
      run.edges.contradicted, run.edges.timed_gaps);
  for (const auto& doubt : doubts(run)) text += "  take what-ifs as rough: " + doubt + "\n";
  return text + repairs_in_words(run);
}

std::string captures_to_json(const CapturedRun& run, int indent) {
  Json json;
  json["schema"] = captures_schema;
  json["traces"] = Json::array();
  for (std::size_t i = 0; i < run.captures.size(); ++i) {
    const auto& capture = run.captures[i];
    if (capture.format == "nsight") {
      add_report(run, i, json["traces"]);
      continue;
    }
    const CaptureMetrics metrics = measure(capture);
    Json one = capture_json(capture, metrics);
    if (capture.format == "ascend") add_ascend(capture, metrics, one);
    json["traces"].push_back(std::move(one));
  }
  Json collectives;
  collectives["n"] = run.matching.matched;
  collectives["unmatched"] = run.matching.unmatched;
  collectives["mismatches"] = run.matching.mismatches;
  collectives["clock_residual_us"] = microseconds(run.matching.clock_residual);
  collectives["stragglers"] = Json::array();
  for (const auto& one : find_stragglers(run)) {
    const auto& capture = run.captures[one.capture];
    Json rank;
    rank["rank"] = known_rank(capture) ? Json(*known_rank(capture)) : Json(nullptr);
    rank["last_arrivals"] = one.last;
    rank["others_waited_us"] = microseconds(one.others_waited);
    rank["waited_us"] = microseconds(one.waited);
    rank["clock_offset_us"] = microseconds(run.matching.clock_offset[one.capture]);
    collectives["stragglers"].push_back(std::move(rank));
  }
  json["collectives"] = std::move(collectives);
  if (!run.self.ranks.empty()) {
    Json path;
    const auto sums = path_by_cause(run);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (sums[i] > Time::zero()) path[std::string(cause_names[i])] = sums[i].microseconds();
    }
    json["critical_path_us"] = std::move(path);
  }
  json["self_replay_error"] = run.self.error;
  json["doubts"] = doubts(run);
  json["ranks"] = ranks_json(run.self);
  json["repairs"] = repairs_json(run.repairs);
  json["edges"] = edges_json(run.edges);
  json["skipped"] = run.skipped;
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace warploom
