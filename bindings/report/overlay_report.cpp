// SPDX-License-Identifier: Apache-2.0
// The words and keys of a comparison.
#include "bindings/report/overlay_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bindings/report/capture_json.hpp"
#include "bindings/report/capture_words.hpp"
#include "sim/play/text_table.hpp"
#include "traces/classify.hpp"

namespace warploom {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_lines = 20;
constexpr std::size_t most_ranks = 8;
std::string_view key_of(OpClass op_class) { return op_class_names[static_cast<std::size_t>(op_class)]; }

std::string ratio(Nanoseconds model, Nanoseconds trace) {
  return trace > 0 ? fmt::format("{:.2f}", static_cast<double>(model) / static_cast<double>(trace)) : "-";
}

constexpr std::size_t name_width = 44;  // what follows is left to --json

std::string totals_in_words(const Overlay& overlay) {
  TextTable table({"", "trace", "model", "model/trace"});
  const auto mean = [&](auto value) {
    Nanoseconds sum = 0;
    for (const auto& rank : overlay.ranks) sum += value(rank);
    return sum / static_cast<Nanoseconds>(overlay.ranks.size());
  };
  const auto row = [&](const char* name, auto value) {
    const Nanoseconds trace = mean([&](const OverlayRank& rank) { return value(rank.trace); });
    const Nanoseconds model = mean([&](const OverlayRank& rank) { return value(rank.model); });
    table.add({name, milliseconds(trace), milliseconds(model), ratio(model, trace)});
  };
  row("step", [](const WindowMetrics& m) { return m.window.length(); });
  row("busy", [](const WindowMetrics& m) { return m.busy; });
  row("computing", [](const WindowMetrics& m) { return m.unions[0]; });
  row("communicating", [](const WindowMetrics& m) { return m.unions[1]; });
  row("exposed communication", [](const WindowMetrics& m) { return m.exposed_to_compute; });
  row("idle", [](const WindowMetrics& m) { return m.idle(); });
  std::string text = table.to_string();
  if (overlay.ranks.size() > 1) {
    text += fmt::format("  means of {} ranks; communication from each rank's own arrival\n", overlay.ranks.size());
  }
  return text;
}

std::string ranks_in_words(const Overlay& overlay) {
  if (overlay.ranks.size() < 2) return {};
  TextTable table({"", "step in trace", "step of model", "trace paired", "model paired"});
  for (std::size_t i = 0; i < std::min(most_ranks, overlay.ranks.size()); ++i) {
    const auto& rank = overlay.ranks[i];
    table.add({rank_in_words(rank.rank), milliseconds(rank.trace.window.length()),
               milliseconds(rank.model.window.length()),
               fmt::format("{} of {}", rank.trace_paired.count, rank.trace_all.count),
               fmt::format("{} of {}", rank.model_paired.count, rank.model_all.count)});
  }
  std::string text = "\n" + table.to_string();
  if (overlay.ranks.size() > most_ranks) {
    text += fmt::format("  and {} more ranks\n", overlay.ranks.size() - most_ranks);
  }
  return text;
}

std::string classes_in_words(const Overlay& overlay) {
  TextTable table(
      {"by class", "pairs", "trace", "model", "model/trace", "10% .. 50% .. 90%", "only in trace", "only in model"});
  for (std::size_t i = 0; i < op_class_names.size(); ++i) {
    const auto& sums = overlay.classes[i];
    if (sums.pairs + sums.only_trace.count + sums.only_model.count == 0) continue;
    const auto lone = [](const OverlaySide& side) {
      return side.count == 0 ? std::string("-") : fmt::format("{} ({})", side.count, milliseconds(side.time));
    };
    table.add(
        {std::string(op_class_names[i]), fmt::format("{}", sums.pairs), milliseconds(sums.trace),
         milliseconds(sums.model), ratio(sums.model, sums.trace),
         sums.pairs == 0 ? "-" : fmt::format("{:.2f} .. {:.2f} .. {:.2f}", sums.ratio[0], sums.ratio[1], sums.ratio[2]),
         lone(sums.only_trace), lone(sums.only_model)});
  }
  std::string text = "\n" + table.to_string();
  if (overlay.ranks.size() > 1) text += fmt::format("  sums over {} ranks, here and below\n", overlay.ranks.size());
  return text;
}

std::string groups_in_words(const Overlay& overlay) {
  TextTable table({"where the time differs", "kernel", "pairs", "trace", "model", "model/trace"});
  table.align_left(1);
  const std::size_t shown = std::min(most_lines, overlay.groups.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& group = overlay.groups[i];
    table.add({group.model, shown_name(group.kernel, name_width), fmt::format("{}", group.count),
               milliseconds(group.trace), milliseconds(group.model_time), ratio(group.model_time, group.trace)});
  }
  std::string text = shown > 0 ? "\n" + table.to_string() : std::string();
  if (overlay.groups.size() > shown) text += fmt::format("  and {} that differ less\n", overlay.groups.size() - shown);
  return text;
}

std::string lones_in_words(const std::vector<OverlayLone>& lones, const char* title) {
  if (lones.empty()) return {};
  const bool has_operations =
      std::any_of(lones.begin(), lones.end(), [](const OverlayLone& lone) { return !lone.operation.empty(); });
  TextTable table(has_operations ? std::vector<std::string>{title, "operator", "class", "count", "time"}
                                 : std::vector<std::string>{title, "class", "count", "time"});
  table.align_left(1);
  if (has_operations) table.align_left(2);
  const std::size_t shown = std::min(most_lines, lones.size());
  for (std::size_t i = 0; i < shown; ++i) {
    std::vector<std::string> row = {shown_name(lones[i].name, name_width)};
    if (has_operations) row.push_back(shown_name(lones[i].operation, name_width));
    row.emplace_back(key_of(lones[i].op_class));
    row.push_back(fmt::format("{}", lones[i].sum.count));
    row.push_back(milliseconds(lones[i].sum.time));
    table.add(std::move(row));
  }
  std::string text = "\n" + table.to_string();
  if (lones.size() > shown) text += fmt::format("  and {} more names\n", lones.size() - shown);
  return text;
}

// The range over the model's layers; parts that belong to none are apart.
std::string layers_in_words(const Overlay& overlay) {
  std::vector<const OverlayLayer*> layers;
  for (const auto& layer : overlay.layers) {
    if (layer.layer >= 0 && layer.trace > 0) layers.push_back(&layer);
  }
  if (layers.empty()) return {};
  const auto by_ratio = [](const OverlayLayer* a, const OverlayLayer* b) {
    return static_cast<double>(a->model) * static_cast<double>(b->trace) <
           static_cast<double>(b->model) * static_cast<double>(a->trace);
  };
  std::stable_sort(layers.begin(), layers.end(), by_ratio);
  const auto said = [](const OverlayLayer* layer) {
    return fmt::format("{} (layer {})", ratio(layer->model, layer->trace), layer->layer);
  };
  return fmt::format("\n  by layer, model/trace: {} to {}, median {} of {} layers\n", said(layers.front()),
                     said(layers.back()), ratio(layers[layers.size() / 2]->model, layers[layers.size() / 2]->trace),
                     layers.size());
}

Json metrics_json(const WindowMetrics& metrics) {
  return {
      {"step_us", microseconds(metrics.window.length())}, {"busy_us", microseconds(metrics.busy)},
      {"compute_us", microseconds(metrics.unions[0])},    {"comm_us", microseconds(metrics.unions[1])},
      {"mem_us", microseconds(metrics.unions[2])},        {"exposed_comm_us", microseconds(metrics.exposed_to_compute)},
      {"idle_us", microseconds(metrics.idle())}};
}
Json side_json(const OverlaySide& side) { return {{"count", side.count}, {"time_us", microseconds(side.time)}}; }

Json ranks_json(const Overlay& overlay) {
  Json list = Json::array();
  for (const auto& rank : overlay.ranks) {
    list.push_back({{"rank", rank.rank ? Json(*rank.rank) : Json(nullptr)},
                    {"file", rank.file},
                    {"role", rank.role},
                    {"step", rank.step < 0 ? Json(nullptr) : Json(rank.step)},
                    {"trace", metrics_json(rank.trace)},
                    {"model", metrics_json(rank.model)},
                    {"trace_operations", side_json(rank.trace_all)},
                    {"trace_paired", side_json(rank.trace_paired)},
                    {"model_operations", side_json(rank.model_all)},
                    {"model_paired", side_json(rank.model_paired)}});
  }
  return list;
}

Json classes_json(const Overlay& overlay) {
  Json json = Json::object();
  for (std::size_t i = 0; i < op_class_names.size(); ++i) {
    const auto& sums = overlay.classes[i];
    if (sums.pairs + sums.only_trace.count + sums.only_model.count == 0) continue;
    json[std::string(op_class_names[i])] = {{"pairs", sums.pairs},
                                            {"same_shape", sums.same_shape},
                                            {"trace_us", microseconds(sums.trace)},
                                            {"model_us", microseconds(sums.model)},
                                            {"ratio_p10", sums.ratio[0]},
                                            {"ratio_p50", sums.ratio[1]},
                                            {"ratio_p90", sums.ratio[2]},
                                            {"only_in_trace", side_json(sums.only_trace)},
                                            {"only_in_model", side_json(sums.only_model)}};
  }
  return json;
}

Json lones_json(const std::vector<OverlayLone>& lones) {
  Json list = Json::array();
  for (const auto& lone : lones) {
    list.push_back({{"name", lone.name},
                    {"operator", lone.operation.empty() ? Json(nullptr) : Json(lone.operation)},
                    {"class", key_of(lone.op_class)},
                    {"count", lone.sum.count},
                    {"time_us", microseconds(lone.sum.time)}});
  }
  return list;
}

}  // namespace

std::string overlay_to_text(const Overlay& overlay) {
  std::string text = fmt::format("{} laid on {} capture{}{}\n", overlay.experiment, overlay.ranks.size(),
                                 overlay.ranks.size() == 1 ? "" : "s",
                                 overlay.is_one_pass       ? ": one forward pass, as captured"
                                 : overlay.is_forward_only ? ": forward passes only, as captured"
                                                           : "");
  for (const auto& note : overlay.notes) text += "  " + note + "\n";
  text += fmt::format(
      "  of the time of its operations, {} of the trace ({} by equal shapes) and {} of the model have a partner\n\n",
      percent(overlay.trace_coverage()), percent(overlay.trace_coverage_by_shape()), percent(overlay.model_coverage()));
  text += totals_in_words(overlay) + ranks_in_words(overlay) + classes_in_words(overlay) + layers_in_words(overlay);
  if (overlay.waiting > 0) {
    text += fmt::format("  of the trace's communication, {} waited for other ranks: not compared\n",
                        milliseconds(overlay.waiting));
  }
  text += groups_in_words(overlay);
  text += lones_in_words(overlay.only_trace, "only in the trace: what the model does not know");
  return text + lones_in_words(overlay.only_model, "only in the model");
}

std::string overlay_to_json(const Overlay& overlay, int indent) {
  Json json;
  json["schema"] = overlay_schema;
  json["experiment"] = overlay.experiment;
  json["forward_only"] = overlay.is_forward_only;
  json["best_alignment"] = overlay.is_exact;
  json["one_pass"] = overlay.is_one_pass;
  json["coverage"] = {{"trace", overlay.trace_coverage()},
                      {"trace_by_shape", overlay.trace_coverage_by_shape()},
                      {"model", overlay.model_coverage()}};
  json["waiting_us"] = microseconds(overlay.waiting);
  json["ranks"] = ranks_json(overlay);
  json["classes"] = classes_json(overlay);
  json["operations"] = Json::array();
  for (const auto& group : overlay.groups) {
    json["operations"].push_back({{"model", group.model},
                                  {"kernel", group.kernel},
                                  {"class", key_of(group.op_class)},
                                  {"phase", name(group.phase)},
                                  {"pairs", group.count},
                                  {"same_shape", group.same_shape},
                                  {"trace_us", microseconds(group.trace)},
                                  {"model_us", microseconds(group.model_time)}});
  }
  json["largest_differences"] = Json::array();
  for (const auto& pair : overlay.largest) {
    json["largest_differences"].push_back({{"rank", pair.rank < 0 ? Json(nullptr) : Json(pair.rank)},
                                           {"model", pair.model},
                                           {"kernel", pair.kernel},
                                           {"layer", pair.layer < 0 ? Json(nullptr) : Json(pair.layer)},
                                           {"operation", pair.op},
                                           {"row", pair.row},
                                           {"trace_us", microseconds(pair.trace)},
                                           {"model_us", microseconds(pair.model_time)}});
  }
  json["layers"] = Json::array();
  for (const auto& layer : overlay.layers) {
    json["layers"].push_back({{"layer", layer.layer < 0 ? Json(nullptr) : Json(layer.layer)},
                              {"pairs", layer.pairs},
                              {"trace_us", microseconds(layer.trace)},
                              {"model_us", microseconds(layer.model)}});
  }
  json["only_in_trace"] = lones_json(overlay.only_trace);
  json["only_in_model"] = lones_json(overlay.only_model);
  json["notes"] = overlay.notes;
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace warploom
