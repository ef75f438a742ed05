// SPDX-License-Identifier: Apache-2.0
// One pass by kind of work, one by stream, one by step.
#include "traces/metrics.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <tuple>
#include <unordered_map>

namespace warploom {

namespace {

constexpr Nanoseconds queued_gap = 1000;  // between two kernels that were both launched: 1.0 to 3.0 us on CUDA devices

std::size_t index(WorkKind kind) { return static_cast<std::size_t>(kind); }

std::array<IntervalSet, 3> sets_by_kind(std::span<const DeviceOp> ops) {
  std::array<std::vector<Interval>, 3> lists;
  for (const auto& op : ops) {
    if (is_work(op)) lists[index(work_kind(op))].push_back({op.start, op.end()});
  }
  return {IntervalSet(std::move(lists[0])), IntervalSet(std::move(lists[1])), IntervalSet(std::move(lists[2]))};
}

WindowMetrics within(const std::array<IntervalSet, 3>& sets, Interval window) {
  WindowMetrics metrics;
  metrics.window = window;
  const IntervalSet compute = sets[0].clipped(window);
  const IntervalSet communication = sets[1].clipped(window);
  const IntervalSet memory = sets[2].clipped(window);
  const IntervalSet work = unite(compute, memory);
  metrics.unions = {compute.length(), communication.length(), memory.length()};
  metrics.busy = unite(work, communication).length();
  metrics.overlap = common(communication, compute);
  metrics.exposed_to_compute = communication.length() - metrics.overlap;
  metrics.exposed_to_any = communication.length() - common(communication, work);
  return metrics;
}

// Operations that touch a window: all started before its end, less those that ended before its beginning.
class TouchCounts {
 public:
  explicit TouchCounts(std::span<const DeviceOp> ops) {
    for (const auto& op : ops) {
      if (!is_work(op)) continue;
      // What takes no time touches what it stands within.
      starts_[index(work_kind(op))].push_back(op.start);
      ends_[index(work_kind(op))].push_back(op.end());
    }
    for (auto* lists : {&starts_, &ends_}) {
      for (auto& list : *lists) std::sort(list.begin(), list.end());
    }
  }
  std::array<std::int64_t, 3> of(Interval window) const {
    std::array<std::int64_t, 3> count{};
    for (std::size_t i = 0; i < count.size(); ++i) {
      const auto begun = std::lower_bound(starts_[i].begin(), starts_[i].end(), window.end) - starts_[i].begin();
      const auto ended = std::upper_bound(ends_[i].begin(), ends_[i].end(), window.begin) - ends_[i].begin();
      count[i] = std::max<std::int64_t>(0, begun - ended);
    }
    return count;
  }

 private:
  std::array<std::vector<Nanoseconds>, 3> starts_;
  std::array<std::vector<Nanoseconds>, 3> ends_;
};

std::optional<Interval> span_of_work(std::span<const DeviceOp> ops) {
  std::optional<Interval> span;
  for (const auto& op : ops) {
    if (is_work(op)) widen(span, {op.start, op.end()});
  }
  return span;
}

std::vector<StreamMetrics> measure_streams(const Capture& capture, IdleMetrics& idle) {
  std::vector<std::vector<const DeviceOp*>> by_stream(capture.streams.size());
  for (const auto& op : capture.device_ops) {
    if (is_work(op)) by_stream[op.stream].push_back(&op);
  }
  std::vector<StreamMetrics> streams;
  for (std::size_t i = 0; i < by_stream.size(); ++i) {
    if (by_stream[i].empty()) continue;
    StreamMetrics stream;
    stream.device = capture.streams[i].device;
    stream.stream = capture.streams[i].name;
    stream.span = {by_stream[i].front()->start, by_stream[i].front()->end()};
    std::vector<Interval> intervals;
    for (const DeviceOp* op : by_stream[i]) {
      ++stream.count[index(work_kind(*op))];
      stream.sum += op->duration;
      intervals.push_back({op->start, op->end()});
      if (op != by_stream[i].front()) {
        const Nanoseconds gap = op->start - stream.span.end;
        if (gap < 0) {
          ++stream.overlaps;
          stream.largest_overlap = std::max(stream.largest_overlap, -gap);
        } else if (op->launch != nothing && capture.calls[op->launch].start > stream.span.end) {
          idle.host += gap;
        } else {
          (gap <= queued_gap ? idle.kernel : idle.other) += gap;
        }
      }
      stream.span.end = std::max(stream.span.end, op->end());
    }
    stream.united = IntervalSet(std::move(intervals)).length();
    streams.push_back(std::move(stream));
  }
  return streams;
}

// Work in the order in which it was launched.
class LaunchedWork {
 public:
  explicit LaunchedWork(const Capture& capture) : capture_(capture) {
    for (std::uint32_t i = 0; i < capture.device_ops.size(); ++i) {
      const auto& op = capture.device_ops[i];
      if (is_work(op) && op.launch != nothing) launched_.emplace_back(capture.calls[op.launch].start, i);
    }
    std::sort(launched_.begin(), launched_.end());
  }

  LaunchedMetrics of(Interval step) const {
    LaunchedMetrics metrics;
    std::vector<Interval> intervals;
    auto place = std::lower_bound(launched_.begin(), launched_.end(), std::pair(step.begin, std::uint32_t{0}));
    for (; place != launched_.end() && place->first < step.end; ++place) {
      const auto& op = capture_.device_ops[place->second];
      const std::size_t kind = index(work_kind(op));
      if (intervals.empty()) metrics.span = {op.start, op.end()};
      metrics.span = {std::min(metrics.span.begin, op.start), std::max(metrics.span.end, op.end())};
      ++metrics.count[kind];
      metrics.sums[kind] += op.duration;
      intervals.push_back({op.start, op.end()});
    }
    metrics.busy = IntervalSet(std::move(intervals)).length();
    return metrics;
  }

 private:
  const Capture& capture_;
  std::vector<std::pair<Nanoseconds, std::uint32_t>> launched_;
};

std::vector<KernelSum> sum_kernels(const Capture& capture, bool communication_only) {
  std::unordered_map<TextId, KernelSum> sums;
  for (std::uint32_t i = 0; i < capture.device_ops.size(); ++i) {
    const auto& op = capture.device_ops[i];
    if (!is_work(op) || (communication_only && op.op_class != OpClass::communication)) continue;
    auto& sum = sums.try_emplace(op.name, KernelSum{op.name, i}).first->second;
    ++sum.count;
    sum.sum += op.duration;
  }
  std::vector<KernelSum> list;
  list.reserve(sums.size());
  for (const auto& [name, sum] : sums) list.push_back(sum);
  std::sort(list.begin(), list.end(),
            [](const KernelSum& a, const KernelSum& b) { return a.sum != b.sum ? a.sum > b.sum : a.first < b.first; });
  return list;
}

Delay measure_delay(const Capture& capture) {
  std::vector<Nanoseconds> delays;
  for (const auto& op : capture.device_ops) {
    if (is_work(op) && op.launch != nothing) delays.push_back(op.start - capture.calls[op.launch].start);
  }
  Delay delay;
  if (delays.empty()) return delay;
  std::sort(delays.begin(), delays.end());
  const std::size_t half = delays.size() / 2;
  delay.count = static_cast<std::int64_t>(delays.size());
  delay.least = delays.front();
  delay.most = delays.back();
  delay.median = delays[half];
  delay.negative = std::lower_bound(delays.begin(), delays.end(), 0) - delays.begin();
  return delay;
}

Nanoseconds measure_host_span(const Capture& capture) {
  if (capture.host_span) return capture.host_span->second - capture.host_span->first;
  std::optional<Interval> span;
  const auto take = [&span](Nanoseconds start, Nanoseconds end) {
    if (!span) span = Interval{start, end};
    span->begin = std::min(span->begin, start);
    span->end = std::max(span->end, end);
  };
  for (const auto& call : capture.calls) take(call.start, call.end());
  for (const auto& op : capture.host_ops) take(op.start, op.end());
  for (const auto& annotation : capture.annotations) {
    if (annotation.thread != nothing) take(annotation.start, annotation.start + annotation.duration);
  }
  return span ? span->length() : 0;
}

}  // namespace

WorkKind work_kind(const DeviceOp& op) {
  if (op.kind == DeviceOpKind::copy || op.kind == DeviceOpKind::fill) return WorkKind::memory;
  return op.op_class == OpClass::communication ? WorkKind::communication : WorkKind::compute;
}

WindowMetrics window_metrics(std::span<const DeviceOp> ops, Interval window) {
  WindowMetrics metrics = within(sets_by_kind(ops), window);
  metrics.count = TouchCounts(ops).of(window);
  return metrics;
}

std::vector<std::pair<Annotation, std::int64_t>> captured_steps(const Capture& capture) {
  constexpr std::string_view prefix = "ProfilerStep#";
  std::vector<std::pair<Annotation, std::int64_t>> steps;
  std::set<std::int64_t> seen;
  for (const auto& annotation : capture.annotations) {
    const std::string_view name = capture.texts[annotation.name];
    if (annotation.thread == nothing || !name.starts_with(prefix)) continue;
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(name.data() + prefix.size(), name.data() + name.size(), number);
    if (error != std::errc() || end != name.data() + name.size() || !seen.insert(number).second) continue;
    steps.emplace_back(annotation, number);
  }
  std::stable_sort(steps.begin(), steps.end(),
                   [](const auto& a, const auto& b) { return a.first.start < b.first.start; });
  return steps;
}

CaptureMetrics measure(const Capture& capture) {
  CaptureMetrics metrics;
  const std::span<const DeviceOp> ops = capture.device_ops;
  const auto sets = sets_by_kind(ops);
  const TouchCounts touches(ops);
  const LaunchedWork launched(capture);
  const auto window_of = [&](Interval window) {
    WindowMetrics one = within(sets, window);
    one.count = touches.of(window);
    return one;
  };
  if (const auto span = span_of_work(ops)) metrics.device_span = window_of(*span);
  metrics.host_span = measure_host_span(capture);
  for (const auto& [annotation, number] : captured_steps(capture)) {
    const Interval window{annotation.start, annotation.start + annotation.duration};
    metrics.steps.push_back(
        {number, std::string(capture.texts[annotation.name]), window_of(window), launched.of(window)});
  }
  metrics.streams = measure_streams(capture, metrics.idle);
  std::set<std::int64_t> devices;
  for (const auto& op : ops) {
    if (!is_work(op)) continue;
    devices.insert(capture.streams[op.stream].device);
    const std::size_t kind = index(work_kind(op));
    ++metrics.count[kind];
    metrics.sums[kind] += op.duration;
    metrics.sum_by_class[static_cast<std::size_t>(op.op_class)] += op.duration;
    ++metrics.count_by_op_kind[op.kind == DeviceOpKind::copy   ? "memcpy"
                               : op.kind == DeviceOpKind::fill ? "memset"
                                                               : "kernel"];
    if (op.duration == 0) ++metrics.zero_durations;
  }
  metrics.devices.assign(devices.begin(), devices.end());
  metrics.kernels = sum_kernels(capture, false);
  metrics.communication = sum_kernels(capture, true);
  metrics.links = count_links(capture);
  metrics.launch_delay = measure_delay(capture);
  return metrics;
}

}  // namespace warploom
