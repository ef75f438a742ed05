// SPDX-License-Identifier: Apache-2.0
// Source and target found, durations exchanged, the program played on the target's machine.
#include "workloads/replay/prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"
#include "sim/core/version.hpp"
#include "sim/play/executor.hpp"
#include "traces/recorded_time.hpp"
#include "workloads/cluster.hpp"
#include "workloads/cluster_lookup.hpp"
#include "workloads/device_lookup.hpp"
#include "workloads/network_lookup.hpp"
#include "workloads/replay/collective_wishes.hpp"
#include "workloads/replay/what_if.hpp"
#include "workloads/validation/error_bands.hpp"

namespace warploom {

namespace {

// The relative error of what was scaled by its class alone: the spread of such kernels' own ratios between devices is
// about as large as the ratios (no measurement of ours; said with the band).
constexpr double scaled_error = 0.25;

// Of what is kept as recorded although the hardware is another: nobody knows, and it is said with the band.
constexpr double kept_error = 0.5;

struct FoundCluster {
  std::string name;
  std::string device_name;
  DeviceSpec device;
  Cluster cluster;
};

// A cluster, or the node of a device; what is neither as it is: its error says what there is.
std::string node_path(const std::string& name, const Library& library) {
  std::string path = cluster_path(name, library);
  std::error_code ignored;
  if (path != name || std::filesystem::is_regular_file(path, ignored)) return path;
  const DeviceLookup devices(library);
  const auto device = devices.canonical_name(name);
  return device ? ClusterLookup(library).cluster_of(*device) : name;
}

// Of the library, by one of its aliases; else what reports call it.
std::string device_name(const DeviceSpec& device, const Library& library) {
  const DeviceLookup lookup(library);
  std::string name = device.name;
  for (const auto& alias : device.aliases) {
    if (const auto canonical = lookup.canonical_name(alias)) name = *canonical;
  }
  return name;
}

FoundCluster load_cluster(const std::string& name, std::int64_t devices, const std::vector<std::string>& overrides,
                          const Library& library) {
  const ConfigValue config = load_config(node_path(name, library), overrides, library);
  Diagnostics diagnostics;
  const auto spec = read<ClusterSpec>(config, diagnostics);
  FoundCluster found;
  found.name = spec.name;
  found.device = spec.device;
  if (!diagnostics.has_errors()) {
    ClusterOptions options;
    if (!spec.device.has(options.mfu_type)) options.mfu_type = DataType::fp16;  // before Ampere
    found.cluster = make_cluster(spec, devices, options, diagnostics);
  }
  if (!diagnostics.has_errors()) report_unread(config, diagnostics);
  diagnostics.throw_if_any();
  found.device_name = device_name(spec.device, library);
  return found;
}

// The device that did a capture's work, by the name that the driver gives it.
std::string captured_device(const Capture& capture) {
  const CapturedDevice* found = nullptr;
  for (const auto& device : capture.devices) {
    if (device.name.empty()) continue;
    const bool works =
        !capture.device_ops.empty() && capture.streams[capture.device_ops.front().stream].device == device.id;
    if (found == nullptr || works) found = &device;
    if (works) break;
  }
  return found == nullptr ? std::string() : found->name;
}

std::int64_t devices_of(const CapturedRun& run, const ReplayQuestion& question) {
  if (question.ranks > 0) {
    if (run.captures.size() > 1) {
      throw UserError(fmt::format("`--ranks {}` and {} captures: only one capture can stand for all", question.ranks,
                                  run.captures.size()),
                      "leave `--ranks` out, or give one trace");
    }
    return question.ranks;
  }
  auto devices = static_cast<std::int64_t>(run.captures.size());
  for (const auto& capture : run.captures) {
    devices = std::max({devices, capture.world_size.value_or(0), known_rank(capture).value_or(-1) + 1});
    for (const auto& group : capture.groups) {
      for (const auto rank : group.ranks) devices = std::max(devices, rank + 1);
    }
  }
  constexpr std::int64_t most = 1'000'000;
  if (devices > most) {
    throw UserError(fmt::format("the captures name {} ranks", devices), "a rank number in them may be broken");
  }
  return devices;
}

// An operation, with what was added after it; nothing where it was removed.
std::optional<Interval> predicted_interval(const ReplayPrediction& prediction, std::size_t capture, std::size_t op) {
  const RowId row = prediction.captured.row_of_op[capture][op];
  if (row == none) return std::nullopt;
  const auto& added = prediction.captured.added_after[capture];
  const auto after = added.find(static_cast<std::uint32_t>(op));
  return Interval{nanoseconds(prediction.timeline.ready[row]),
                  nanoseconds(prediction.timeline.end[after == added.end() ? row : after->second])};
}

// First start to last end of work.
Interval predicted_span(const CapturedRun& run, const ReplayPrediction& prediction, std::size_t capture) {
  Interval span;
  bool any = false;
  for (std::size_t i = 0; i < run.captures[capture].device_ops.size(); ++i) {
    if (!is_work(run.captures[capture].device_ops[i])) continue;
    const auto played = predicted_interval(prediction, capture, i);
    if (!played) continue;
    const Interval one = *played;
    span = any ? Interval{std::min(span.begin, one.begin), std::max(span.end, one.end)} : one;
    any = true;
  }
  return span;
}

void compare_ranks(const CapturedRun& run, ReplayPrediction& prediction) {
  std::size_t with_work = 0;
  for (std::size_t i = 0; i < run.captures.size(); ++i) {
    const bool works = std::any_of(run.captures[i].device_ops.begin(), run.captures[i].device_ops.end(), is_work);
    if (!works) continue;
    const auto& self = run.self.ranks[with_work++];
    const Interval span = predicted_span(run, prediction, i);
    prediction.ranks.push_back(
        {self.rank, self.measured.length(), self.replayed.length(), span.length(),
         exposed_communication(run.captures[i], prediction.captured.row_of_op[i], prediction.timeline)});
  }
}

struct StepSpans {
  Interval measured;
  Interval predicted;
  bool any = false;

  void take(Interval measured_one, Interval predicted_one) {
    if (!any) {
      measured = measured_one;
      predicted = predicted_one;
    }
    measured = {std::min(measured.begin, measured_one.begin), std::max(measured.end, measured_one.end)};
    predicted = {std::min(predicted.begin, predicted_one.begin), std::max(predicted.end, predicted_one.end)};
    any = true;
  }
};

// Steps by number: what each launched, over all captures that have it.
void compare_steps(const CapturedRun& run, ReplayPrediction& prediction) {
  std::map<std::int64_t, StepSpans> spans;
  for (std::size_t i = 0; i < run.captures.size(); ++i) {
    const auto& capture = run.captures[i];
    const auto steps = captured_steps(capture);
    for (std::size_t k = 0; k < capture.device_ops.size(); ++k) {
      const auto& op = capture.device_ops[k];
      if (!is_work(op) || op.launch == nothing) continue;
      const Nanoseconds at = capture.calls[op.launch].start;
      const auto after =
          std::partition_point(steps.begin(), steps.end(), [&](const auto& step) { return step.first.start <= at; });
      if (after == steps.begin()) continue;
      const auto& [step, number] = *std::prev(after);
      if (at >= step.start + step.duration) continue;
      const auto played = predicted_interval(prediction, i, k);
      if (!played) continue;
      const Nanoseconds origin = run.captured.origin[i];
      spans[number].take({op.start - origin, op.end() - origin}, *played);
    }
  }
  for (const auto& [number, one] : spans) {
    prediction.steps.push_back({number, one.measured.length(), one.predicted.length()});
  }
}

// The mean error of the class on a device, over its recorded bands; the mean of all devices where it has none.
double class_error(const ErrorBands& bands, std::string_view kind, const std::string& device) {
  double own = 0;
  double own_rows = 0;
  double all = 0;
  double all_rows = 0;
  for (const auto& band : bands.all()) {
    if (band.kind != kind) continue;
    const auto rows = static_cast<double>(band.rows);
    all += band.mape * rows;
    all_rows += rows;
    if (band.device != device) continue;
    own += band.mape * rows;
    own_rows += rows;
  }
  if (own_rows > 0) return own / own_rows;
  return all_rows > 0 ? all / all_rows : 0.1;
}

// Errors of classes, each with the share of the run that it fills, and what the dependencies leave unexplained.
void estimate_error(const CapturedRun& run, const std::string& source, const Library& library,
                    ReplayPrediction& prediction) {
  const ErrorBands bands = ErrorBands::load(library);
  struct Part {
    OpClass op_class;
    Cause cause;
    const char* kind;
  };
  double error = run.self.error;
  double total = 0;
  for (const double seconds : prediction.report.seconds) total += seconds;
  const auto seconds = [&](Cause cause) { return prediction.report.seconds[static_cast<std::size_t>(cause)]; };
  const auto weighted = [&](std::initializer_list<OpClass> classes, const char* kind) {
    const double target_error = class_error(bands, kind, prediction.target_device);
    const double source_error = class_error(bands, kind, source);
    const bool elsewhere = prediction.target_device != source;
    const std::array<double, 4> of_basis = {std::hypot(target_error, source_error), target_error, scaled_error,
                                            elsewhere ? kept_error : 0.0};
    double sum = 0;
    double weight = 0;
    for (const OpClass op_class : classes) {
      const auto& sums = prediction.retimed.classes[static_cast<std::size_t>(op_class)];
      for (std::size_t i = 0; i < of_basis.size(); ++i) {
        sum += of_basis[i] * static_cast<double>(sums.measured[i]);
        weight += static_cast<double>(sums.measured[i]);
      }
    }
    return weight > 0 ? sum / weight : 0.0;
  };
  if (total > 0) {
    double communication = 0;
    for (std::size_t i = 0; i < cause_count; ++i) {
      if (is_exposed_communication(static_cast<Cause>(i))) communication += prediction.report.seconds[i];
    }
    error += weighted({OpClass::gemm}, "gemm") * seconds(Cause::gemm) / total;
    error += weighted({OpClass::attention}, "attention") * seconds(Cause::attention) / total;
    error += weighted({OpClass::norm, OpClass::element_wise, OpClass::other}, "memory_bound") *
             seconds(Cause::other_compute) / total;
    error += weighted({OpClass::communication}, "collectives") * communication / total;
  }
  prediction.relative_error = error;
  prediction.error_of = fmt::format(
      "errors of the classes of kernels and collectives on their validation tables, {:.0f}% for what is scaled without "
      "shapes, {:.0f}% for what is kept on other hardware, and the unchanged replay's own {:.2g}%",
      100 * scaled_error, 100 * kept_error, 100 * run.self.error);
}

struct FoundSource {
  std::string cluster;                             // empty: nothing is known of its network
  std::vector<std::string> device_names;           // by capture: of the library, else as the driver calls it
  std::map<std::string, DeviceSpec> descriptions;  // of those that are known
  std::optional<FoundNetwork> network;

  std::vector<std::string> distinct_names() const {
    const std::set<std::string> names(device_names.begin(), device_names.end());
    return {names.begin(), names.end()};
  }
  ReplaySource known() const {
    ReplaySource source;
    for (const auto& name : device_names) {
      const auto place = descriptions.find(name);
      source.devices.push_back(place == descriptions.end() ? nullptr : &place->second);
    }
    source.network = network ? &network->network : nullptr;
    return source;
  }
};

// Where it was captured: a cluster that is named, else the node of the device's name. How captures of several devices
// are connected is not known.
FoundSource find_source(const CapturedRun& run, const ReplayQuestion& question, std::int64_t devices,
                        const Library& library) {
  FoundSource source;
  if (!question.source.empty()) {
    source.cluster = node_path(question.source, library);
    source.network = load_network(source.cluster, devices, {}, library);
    const std::string name = device_name(source.network->device, library);
    source.device_names.assign(run.captures.size(), name);
    source.descriptions.emplace(name, source.network->device);
    return source;
  }
  const DeviceLookup lookup(library);
  for (const auto& capture : run.captures) {
    const std::string name = captured_device(capture);
    const auto known = lookup.canonical_name(name);
    source.device_names.push_back(known.value_or(name));
    if (known) source.descriptions.try_emplace(*known, lookup.find(*known).spec);
  }
  const auto names = source.distinct_names();
  if (names.size() != 1 || source.descriptions.empty()) return source;
  const ClusterLookup clusters(library);
  const std::string* cluster = clusters.find(names.front());
  if (cluster == nullptr) return source;
  source.cluster = *cluster;
  try {
    source.network = load_network(source.cluster, devices, {}, library);
  } catch (const UserError&) {
    source.network.reset();  // a node that is too small for the run: how it was connected is not known
  }
  return source;
}

[[noreturn]] void refuse_unknown_source(const FoundSource& source) {
  const auto names = source.distinct_names();
  std::string problem;
  if (names.size() > 1) {
    problem = fmt::format("captured on several devices ({}): how they were connected is not known", join(names));
  } else if (names.front().empty()) {
    problem = "the traces name no device: nothing is known of where they were captured";
  } else if (source.descriptions.empty()) {
    problem = fmt::format("{} is no device of the library: nothing is known of where the trace was captured",
                          warploom::quoted(names.front()));
  } else {
    problem = fmt::format("no cluster of the library is made of {}: nothing is known of where the trace was captured",
                          warploom::quoted(names.front()));
  }
  throw UserError(problem, "name a cluster: `--source CLUSTER`, or `--on CLUSTER`");
}

// With what the what-if changes of it; what the command line says comes last.
FoundCluster load_target(const std::string& name, std::int64_t devices, const ReplayQuestion& question,
                         const WhatIf& what_if, const Library& library) {
  std::vector<std::string> overrides = overrides_of(what_if);
  overrides.insert(overrides.end(), question.overrides.begin(), question.overrides.end());
  try {
    return load_cluster(name, devices, overrides, library);
  } catch (const ConfigError& error) {
    throw placed(error, what_if);
  }
}

// "2 captures on h100_sxm, 1 on a100_sxm"
std::string devices_in_words(const FoundSource& source) {
  std::vector<std::string> parts;
  for (const auto& name : source.distinct_names()) {
    const auto captures = std::count(source.device_names.begin(), source.device_names.end(), name);
    parts.push_back(fmt::format("{} capture{} on {}", captures, captures == 1 ? "" : "s",
                                name.empty() ? "a device without a name" : name));
  }
  return join(parts);
}

// Durations and calls for the target; the machine that plays them.
Machine retime_for_target(const CapturedRun& run, const ReplayQuestion& question, const FoundSource& source,
                          std::int64_t devices, const WhatIf& what_if, const Library& library,
                          ReplayPrediction& prediction) {
  const std::string name = question.on.empty() ? source.cluster : question.on;
  if (name.empty()) refuse_unknown_source(source);
  const std::int64_t times = what_if.data_parallel ? what_if.data_parallel->times : 1;
  const FoundCluster target = load_target(name, devices * times, question, what_if, library);
  prediction.target = target.name;
  prediction.target_device = target.device_name;
  prediction.retimed = retime(run, source.known(), {target.device, devices, question.ranks > 1});
  prediction.retimed.retiming.devices = devices;
  prediction.retimed.retiming.devices_a_capture = std::max<std::int64_t>(1, question.ranks);
  require_wishes(what_if, *target.cluster.machine.planner, prediction.retimed);
  auto& notes = prediction.retimed.notes;
  if (source.distinct_names().size() > 1) {
    notes.insert(notes.begin(),
                 fmt::format("captured on several devices ({}): each rank is retimed from its own, and how they were "
                             "connected is not known",
                             devices_in_words(source)));
  }
  notes.insert(notes.begin(), target.cluster.assumptions.begin(), target.cluster.assumptions.end());
  return target.cluster.machine;
}

// The same hardware: every duration is the capture's own.
Machine keep_as_captured(ReplayPrediction& prediction) {
  prediction.target = "the captured hardware";
  prediction.target_device = prediction.source;
  Machine machine;
  machine.name = prediction.target;
  machine.device_classes.emplace_back();
  return machine;
}

void identify(ReplayPrediction& prediction) {
  auto& report = prediction.report;
  report.name = "replay";
  report.version = version();
  report.machine = prediction.target;
  report.assumptions.emplace_back("hosts take as long as captured, launch latencies included");
  for (const auto& note : prediction.retimed.notes) report.assumptions.push_back(note);
}

}  // namespace

std::optional<double> ReplayPrediction::speed_up() const {
  Nanoseconds before = 0;
  Nanoseconds after = 0;
  for (const auto& rank : ranks) {
    before = std::max(before, rank.unchanged);
    after = std::max(after, rank.predicted);
  }
  if (after <= 0) return std::nullopt;
  return static_cast<double>(before) / static_cast<double>(after);
}

ReplayPrediction predict_replay(const CapturedRun& run, const ReplayQuestion& question, const Library& library) {
  if (run.self.ranks.empty()) {
    throw UserError("the captures hold no work of a device: there is nothing to predict",
                    "`warploom inspect` says what they hold; capture with CUDA (or NPU) activities");
  }
  WhatIf what_if = question.what_if.empty() ? WhatIf{} : read_what_if(question.what_if);
  if (what_if.data_parallel && what_if.data_parallel->times == 1) what_if.data_parallel.reset();
  const bool elsewhere = !question.on.empty() || !question.overrides.empty() || question.ranks > 0 ||
                         what_if.data_parallel || !overrides_of(what_if).empty();
  const std::int64_t devices = devices_of(run, question);
  const FoundSource source = find_source(run, question, devices, library);
  ReplayPrediction prediction;
  prediction.source = join(source.distinct_names(), " and ");
  const Machine machine = elsewhere ? retime_for_target(run, question, source, devices, what_if, library, prediction)
                                    : keep_as_captured(prediction);
  apply(what_if, run, prediction.retimed.retiming);
  sum_classes(run, prediction.retimed);
  prediction.captured = make_program(run.captures, run.graphs, run.matching, prediction.retimed.retiming);
  PlayOptions options;
  options.progress = question.progress;
  prediction.timeline = play(prediction.captured.program, machine, options);
  prediction.report = make_report(prediction.captured.program, machine, prediction.timeline);
  identify(prediction);
  compare_ranks(run, prediction);
  compare_steps(run, prediction);
  estimate_error(run, prediction.source, library, prediction);
  return prediction;
}

}  // namespace warploom
