// SPDX-License-Identifier: Apache-2.0
// Source and target found, durations exchanged, the program played on the target's machine.
#include "workloads/replay/prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"
#include "sim/core/version.hpp"
#include "sim/play/executor.hpp"
#include "traces/intervals.hpp"
#include "traces/recorded_time.hpp"
#include "workloads/replay/collective_wishes.hpp"
#include "workloads/replay/error_estimate.hpp"
#include "workloads/replay/source.hpp"
#include "workloads/replay/what_if.hpp"

namespace warploom {

namespace {

std::int64_t largest_group(const CapturedRun& run) {
  std::int64_t largest = 0;
  for (const auto& capture : run.captures) {
    for (const auto& group : capture.groups) {
      largest = std::max({largest, group.size, static_cast<std::int64_t>(group.ranks.size())});
    }
  }
  return largest;
}

std::int64_t devices_of(const CapturedRun& run, const ReplayQuestion& question) {
  if (question.ranks > 0) {
    if (const std::int64_t members = largest_group(run); question.ranks < members) {
      throw UserError(fmt::format("`--ranks {}`: a process group of the capture has {} ranks", question.ranks, members),
                      "the capture stands for as many ranks or more");
    }
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
  std::optional<Interval> span;
  for (std::size_t i = 0; i < run.captures[capture].device_ops.size(); ++i) {
    if (!is_work(run.captures[capture].device_ops[i])) continue;
    if (const auto played = predicted_interval(prediction, capture, i)) widen(span, *played);
  }
  return span.value_or(Interval{});
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

// Edits, sharing of the device and of the network included.
void sum_classes_as_played(ReplayPrediction& prediction) {
  for (const auto& kernel : prediction.kernels) {
    prediction.retimed.classes[static_cast<std::size_t>(kernel.op_class)].predicted += kernel.predicted;
  }
}

struct StepSpans {
  std::optional<Interval> measured;
  std::optional<Interval> predicted;  // none: all of it was removed
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
      const Nanoseconds origin = run.captured.origin[i];
      widen(spans[number].measured, {op.start - origin, op.end() - origin});
      if (const auto played = predicted_interval(prediction, i, k)) widen(spans[number].predicted, *played);
    }
  }
  for (const auto& [number, one] : spans) {
    prediction.steps.push_back(
        {number, one.measured.value_or(Interval{}).length(), one.predicted.value_or(Interval{}).length()});
  }
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
  ReplaySource known = source.known();
  known.is_target = target.path == source.cluster && question.overrides.empty() && what_if.set.empty();
  prediction.is_same_hardware = known.is_target && overrides_of(what_if).empty() && question.ranks == 0 && times == 1;
  prediction.retimed = retime(run, known, {target.device, devices, question.ranks > 1, question.ignores_shapes});
  prediction.retimed.retiming.devices = devices;
  prediction.retimed.retiming.devices_a_capture = std::max<std::int64_t>(1, question.ranks);
  require_wishes(what_if, *target.cluster.machine.planner, prediction.retimed);
  auto& notes = prediction.retimed.notes;
  if (source.distinct_names().size() > 1) {
    notes.insert(notes.begin(),
                 fmt::format("captured on several devices ({}): each rank is retimed from its own, and how they were "
                             "connected is not known",
                             source.in_words()));
  }
  if (const std::int64_t members = largest_group(run); question.ranks > members && members > 1) {
    notes.push_back(
        fmt::format("process groups keep the {} ranks that were captured at most; `data_parallel` in a "
                    "--what-if file lets them grow",
                    members));
  }
  notes.insert(notes.begin(), target.cluster.assumptions.begin(), target.cluster.assumptions.end());
  return target.cluster.machine;
}

// The same hardware: every duration is the capture's own.
Machine keep_as_captured(ReplayPrediction& prediction) {
  prediction.target = "the captured hardware";
  prediction.is_same_hardware = true;
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

void require_device_work(const CapturedRun& run) {
  if (!run.self.ranks.empty()) return;
  throw UserError("the captures hold no work of a device: there is nothing to replay",
                  "`warploom inspect` says what they hold; capture with CUDA (or NPU) activities");
}

ReplayPrediction predict_replay(const CapturedRun& run, const ReplayQuestion& question, const Library& library) {
  require_device_work(run);
  WhatIf what_if = question.what_if.empty() ? WhatIf{} : read_what_if(question.what_if);
  if (what_if.data_parallel && what_if.data_parallel->times == 1) what_if.data_parallel.reset();
  const bool elsewhere = !question.on.empty() || !question.overrides.empty() || question.ranks > 0 ||
                         what_if.data_parallel || !overrides_of(what_if).empty();
  const std::int64_t devices = devices_of(run, question);
  const FoundSource source = find_source(run, question.source, devices, library);
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
  prediction.kernels = kernel_changes(run, prediction.captured, prediction.timeline);
  sum_classes_as_played(prediction);
  estimate_error(run, !question.what_if.empty(), library, prediction);
  return prediction;
}

}  // namespace warploom
