// SPDX-License-Identifier: Apache-2.0
// The words and keys of a replay.
#include "bindings/report/replay_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bindings/report/capture_json.hpp"
#include "bindings/report/capture_report.hpp"
#include "bindings/report/capture_words.hpp"
#include "sim/play/text_table.hpp"
#include "traces/classify.hpp"

namespace warploom {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_ranks = 16;

std::string ranks_in_words(const CapturedRun& run) {
  TextTable table({"", "measured", "replayed", "span error", "start error p50", "p95"});
  for (std::size_t i = 0; i < std::min(run.self.ranks.size(), most_ranks); ++i) {
    const auto& rank = run.self.ranks[i];
    table.add({rank_in_words(rank.rank), milliseconds(rank.measured.length()), milliseconds(rank.replayed.length()),
               fmt::format("{:+.4f}%", 100 * rank.span_error()),
               fmt::format("{:.1f} us", static_cast<double>(rank.start_error_p50) / 1e3),
               fmt::format("{:.1f} us", static_cast<double>(rank.start_error_p95) / 1e3)});
  }
  std::string text = table.to_string();
  if (run.self.ranks.size() > most_ranks)
    text += fmt::format("  and {} more ranks\n", run.self.ranks.size() - most_ranks);
  return text;
}

std::string causes_in_words(const Report& report) {
  double total = 0;
  for (const double seconds : report.seconds) total += seconds;
  TextTable table({"where devices' time goes (a mean; what they do hides what else waits)", "time", "share"});
  for (std::size_t i = 0; i < cause_count; ++i) {
    if (report.seconds[i] <= 0) continue;
    table.add({std::string(cause_names[i]), fmt::format("{:.3f} ms", report.seconds[i] * 1e3),
               percent(report.seconds[i] / total)});
  }
  return table.to_string();
}

std::string classes_in_words(const Retimed& retimed) {
  TextTable table({"what it rests on", "measured", "predicted", "anchored", "modelled", "scaled", "kept"});
  for (std::size_t i = 0; i < op_class_names.size(); ++i) {
    const auto& sums = retimed.classes[i];
    Nanoseconds measured = 0;
    for (const Nanoseconds sum : sums.measured) measured += sum;
    if (measured == 0) continue;
    std::vector<std::string> row = {std::string(op_class_names[i]), milliseconds(measured),
                                    sums.predicted > 0 ? milliseconds(sums.predicted) : "-"};
    for (const Nanoseconds sum : sums.measured) {
      row.push_back(sum > 0 ? percent(static_cast<double>(sum) / static_cast<double>(measured)) : "-");
    }
    table.add(std::move(row));
  }
  return table.to_string();
}

// What takes longest, before or after.
std::string kernels_in_words(const ReplayPrediction& prediction) {
  constexpr std::size_t most_kernels = 12;
  TextTable table({"kernel", "times", "measured", "predicted", "ratio"});
  for (std::size_t i = 0; i < std::min(prediction.kernels.size(), most_kernels); ++i) {
    const auto& kernel = prediction.kernels[i];
    table.add({shown_name(kernel.name, 64), fmt::format("{}", kernel.count), milliseconds(kernel.measured),
               milliseconds(kernel.predicted),
               kernel.measured > 0
                   ? fmt::format("{:.2f}", static_cast<double>(kernel.predicted) / static_cast<double>(kernel.measured))
                   : "-"});
  }
  std::string text = table.to_string();
  if (prediction.kernels.size() > most_kernels) {
    text += fmt::format("  and {} more kernels, see --json\n", prediction.kernels.size() - most_kernels);
  }
  return text;
}

std::string speed_up_in_words(const std::optional<double>& speed_up) {
  if (!speed_up) return "nothing is left to do";
  if (std::abs(*speed_up - 1) < 0.005) return "as fast as captured";
  return *speed_up >= 1 ? fmt::format("{:.3g} times as fast", *speed_up)
                        : fmt::format("{:.3g} times as long", 1 / *speed_up);
}

// Why faster devices do not help, where they do not.
std::string verdict_in_words(const ReplayPrediction& prediction) {
  Nanoseconds measured = 0;
  Nanoseconds predicted = 0;
  for (std::size_t i = 0; i < prediction.retimed.classes.size(); ++i) {
    if (i == static_cast<std::size_t>(OpClass::communication) || prediction.retimed.classes[i].predicted == 0) continue;
    for (const Nanoseconds sum : prediction.retimed.classes[i].measured) measured += sum;
    predicted += prediction.retimed.classes[i].predicted;
  }
  const double whole = prediction.timeline.makespan.seconds();
  const double host = prediction.report.critical_path_by_cause[static_cast<std::size_t>(Cause::host)].seconds();
  if (measured == 0 || predicted == 0 || whole <= 0 || host < 0.4 * whole) return {};
  const double kernels = static_cast<double>(measured) / static_cast<double>(predicted);
  const bool are_faster = kernels >= 1.1 && prediction.speed_up().value_or(kernels) < 0.5 * (1 + kernels);
  return fmt::format(
      "  {}the hosts set the pace ({} of the critical path); see what `host: {{graphs: true}}` does in a "
      "--what-if file\n",
      are_faster ? fmt::format("kernels take {:.3g} times less, but ", kernels) : std::string(), percent(host / whole));
}

std::string prediction_in_words(const ReplayPrediction& prediction) {
  Nanoseconds longest = 0;
  Nanoseconds before = 0;
  Nanoseconds unchanged = 0;
  for (const auto& rank : prediction.ranks) {
    longest = std::max(longest, rank.predicted);
    before = std::max(before, rank.measured);
    unchanged = std::max(unchanged, rank.unchanged);
  }
  // A replay that does not find back to what was measured is compared with itself.
  const bool is_off = std::abs(static_cast<double>(unchanged - before)) > 0.02 * static_cast<double>(before);
  const double error = prediction.relative_error;
  std::string text = fmt::format(
      "On {} ({}; captured on {})\n  {} instead of {}{}: {}\n  within {} to {} ({})\n", prediction.target,
      prediction.target_device, prediction.source.empty() ? "a device that the trace does not name" : prediction.source,
      milliseconds(longest), milliseconds(is_off ? unchanged : before),
      is_off ? fmt::format(" when replayed unchanged ({} as captured)", milliseconds(before)) : std::string(),
      speed_up_in_words(prediction.speed_up()),
      milliseconds(static_cast<Nanoseconds>(static_cast<double>(longest) * std::max(0.0, 1 - error))),
      milliseconds(static_cast<Nanoseconds>(static_cast<double>(longest) * (1 + error))), prediction.error_of);
  text += verdict_in_words(prediction);
  if (!prediction.steps.empty()) {
    TextTable steps({"step, all it launched on all ranks", "measured", "predicted"});
    for (std::size_t i = 0; i < std::min(prediction.steps.size(), most_ranks); ++i) {
      const auto& step = prediction.steps[i];
      steps.add({fmt::format("{}", step.number), milliseconds(step.measured), milliseconds(step.predicted)});
    }
    text += steps.to_string();
  }
  text += "  critical path: " +
          critical_path_in_words(prediction.report.critical_path_by_cause, prediction.timeline.makespan) + "\n";
  text += causes_in_words(prediction.report) + classes_in_words(prediction.retimed) + kernels_in_words(prediction);
  for (const auto& assumption : prediction.report.assumptions) text += "  assumed: " + assumption + "\n";
  return text;
}

Json prediction_json(const ReplayPrediction& prediction) {
  Json json;
  json["target"] = prediction.target;
  json["target_device"] = prediction.target_device;
  json["source_device"] = prediction.source;
  Nanoseconds longest = 0;
  for (const auto& rank : prediction.ranks) longest = std::max(longest, rank.predicted);
  json["span_us"] = microseconds(longest);
  json["speed_up"] = prediction.speed_up() ? Json(*prediction.speed_up()) : Json(nullptr);
  json["error_band"]["low_us"] = static_cast<double>(longest) / 1e3 * std::max(0.0, 1 - prediction.relative_error);
  json["error_band"]["high_us"] = static_cast<double>(longest) / 1e3 * (1 + prediction.relative_error);
  json["error_band"]["of"] = prediction.error_of;
  json["steps"] = Json::array();
  for (const auto& step : prediction.steps) {
    json["steps"].push_back({{"step", step.number},
                             {"span_us_measured", microseconds(step.measured)},
                             {"span_us_predicted", microseconds(step.predicted)}});
  }
  json["ranks"] = Json::array();
  for (const auto& rank : prediction.ranks) {
    json["ranks"].push_back({{"rank", rank.rank ? Json(*rank.rank) : Json(nullptr)},
                             {"span_us_measured", microseconds(rank.measured)},
                             {"span_us_replayed", microseconds(rank.unchanged)},
                             {"span_us_predicted", microseconds(rank.predicted)},
                             {"exposed_comm_us", microseconds(rank.exposed_communication)}});
  }
  json["kernels"] = Json::array();
  for (const auto& kernel : prediction.kernels) {
    json["kernels"].push_back({{"name", kernel.name},
                               {"class", op_class_names[static_cast<std::size_t>(kernel.op_class)]},
                               {"count", kernel.count},
                               {"measured_us", microseconds(kernel.measured)},
                               {"predicted_us", microseconds(kernel.predicted)}});
  }
  for (std::size_t i = 0; i < cause_count; ++i) {
    if (prediction.report.seconds[i] > 0) json["causes_s"][std::string(cause_names[i])] = prediction.report.seconds[i];
  }
  std::array<Nanoseconds, 4> all{};
  Json classes = Json::object();
  for (std::size_t i = 0; i < op_class_names.size(); ++i) {
    const auto& sums = prediction.retimed.classes[i];
    Nanoseconds measured = 0;
    for (std::size_t basis = 0; basis < all.size(); ++basis) {
      measured += sums.measured[basis];
      all[basis] += sums.measured[basis];
    }
    if (measured == 0) continue;
    Json one;
    one["measured_us"] = microseconds(measured);
    if (sums.predicted > 0) one["predicted_us"] = microseconds(sums.predicted);
    for (std::size_t basis = 0; basis < all.size(); ++basis) {
      one[std::string(basis_names[basis])] = static_cast<double>(sums.measured[basis]) / static_cast<double>(measured);
    }
    classes[std::string(op_class_names[i])] = std::move(one);
  }
  Nanoseconds total = 0;
  for (const Nanoseconds sum : all) total += sum;
  for (std::size_t basis = 0; basis < all.size(); ++basis) {
    json["shares"][std::string(basis_names[basis])] =
        total > 0 ? static_cast<double>(all[basis]) / static_cast<double>(total) : 0.0;
  }
  for (std::size_t i = 0; i < cause_count; ++i) {
    const Time on_path = prediction.report.critical_path_by_cause[i];
    if (on_path > Time::zero()) json["critical_path_us"][std::string(cause_names[i])] = on_path.microseconds();
  }
  json["classes"] = std::move(classes);
  json["assumptions"] = prediction.report.assumptions;
  return json;
}

}  // namespace

std::string replay_to_text(const CapturedRun& run, const std::optional<ReplayPrediction>& prediction) {
  std::string text = prediction ? prediction_in_words(*prediction) + "\n" : std::string();
  text +=
      fmt::format("Replay of {} capture{} as captured\n", run.captures.size(), run.captures.size() == 1 ? "" : "s") +
      ranks_in_words(run) + self_replay_in_words(run);
  if (run.captured.dropped_edges > 0) {
    text += fmt::format("  {} dependencies led back in time: dropped\n", run.captured.dropped_edges);
  }
  for (const auto& mismatch : run.matching.mismatches) text += "  does not fit: " + mismatch + "\n";
  return text;
}

std::string replay_to_json(const CapturedRun& run, const std::optional<ReplayPrediction>& prediction, int indent) {
  Json json;
  json["schema"] = replay_schema;
  json["self_replay_error"] = run.self.error;
  json["doubts"] = doubts(run);
  json["ranks"] = ranks_json(run.self);
  json["repairs"] = repairs_json(run.repairs);
  json["edges"] = edges_json(run.edges);
  json["edges"]["dropped"] = run.captured.dropped_edges;
  json["collectives"]["n"] = run.matching.matched;
  json["collectives"]["unmatched"] = run.matching.unmatched;
  json["collectives"]["mismatches"] = run.matching.mismatches;
  json["skipped"] = run.skipped;
  if (prediction) json["predicted"] = prediction_json(*prediction);
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace warploom
