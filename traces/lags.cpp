// SPDX-License-Identifier: Apache-2.0
// Launch latencies and queue gaps, by order statistics of the capture's own times.
#include "traces/lags.hpp"

#include <algorithm>
#include <limits>

#include "traces/dependencies.hpp"
#include "traces/median.hpp"

namespace warploom {

namespace {

constexpr Nanoseconds never = std::numeric_limits<Nanoseconds>::min();
constexpr std::size_t enough = 8;  // samples for a figure of their own

std::size_t index(DeviceOpKind kind) { return static_cast<std::size_t>(kind); }

// The median, unless half of all waited for something that nobody knows of: no more than twice the lower quartile.
Nanoseconds typical(std::vector<Nanoseconds>& values) {
  const auto quarter = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 4);
  std::nth_element(values.begin(), quarter, values.end());
  const Nanoseconds low = *quarter;
  return std::min(upper_median(values), 2 * low);
}

// Of what is no wait.
Nanoseconds mean_gap(std::vector<Nanoseconds>& gaps) {
  const Nanoseconds cut = std::max<Nanoseconds>(6 * upper_median(gaps), 5000);
  Nanoseconds sum = 0;
  Nanoseconds count = 0;
  for (const Nanoseconds gap : gaps) {
    if (gap > cut) continue;
    sum += gap;
    ++count;
  }
  return sum / count;  // the median itself is below the cut
}

// A copy from pageable memory is staged by its call: its delay says nothing of others.
bool is_staged(const Capture& capture, const DeviceOp& op) {
  return op.kind == DeviceOpKind::copy && capture.texts[op.name].find("Pageable ->") != std::string_view::npos;
}

constexpr Nanoseconds long_call = 20'000;  // at least, and twice as long as usual: it was held up

}  // namespace

LagModel::LagModel(const Capture& capture, std::span<const std::uint32_t> before, std::span<const OpEdge> edges_by_to) {
  const auto& ops = capture.device_ops;
  std::vector<Nanoseconds> events_at(ops.size(), never);  // the last that an event made it wait for
  for (const auto& edge : edges_by_to) events_at[edge.to] = std::max(events_at[edge.to], ops[edge.from].end());
  std::vector<Nanoseconds> free_at = events_at;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (before[i] != nothing) free_at[i] = std::max(free_at[i], ops[before[i]].end());
  }
  measure_calls(capture);
  measure_launches(capture, free_at);
  measure_queues(capture, before, events_at);
  measure_events(capture, before, events_at);
}

void LagModel::measure_calls(const Capture& capture) {
  usual_call_.assign(capture.texts.size(), -1);
  std::vector<std::vector<Nanoseconds>> durations(capture.texts.size());
  for (const auto& call : capture.calls) {
    if (call.kind == CallKind::launch || call.kind == CallKind::graph_launch || call.kind == CallKind::fill) {
      durations[call.name].push_back(call.duration);
    }
  }
  for (TextId name = 0; name < durations.size(); ++name) {
    auto& values = durations[name];
    if (!values.empty()) usual_call_[name] = upper_median(values);
  }
}

Nanoseconds LagModel::excess(const HostCall& call) const {
  if (call.duration < long_call) return 0;
  const Nanoseconds usual = call.name < usual_call_.size() ? usual_call_[call.name] : -1;
  return usual < 0 || call.duration < 2 * usual ? 0 : call.duration - usual;
}

void LagModel::measure_launches(const Capture& capture, std::span<const Nanoseconds> free_at) {
  const auto key = [](TextId call, DeviceOpKind kind) { return std::size_t{call} * kinds + index(kind); };
  std::vector<std::vector<Nanoseconds>> by_call(capture.texts.size() * kinds);
  std::array<std::vector<Nanoseconds>, kinds> by_kind;
  for (std::size_t i = 0; i < capture.device_ops.size(); ++i) {
    const auto& op = capture.device_ops[i];
    if (op.launch == nothing) continue;
    const auto& call = capture.calls[op.launch];
    if (op.start < call.start) continue;
    const bool was_idle = free_at[i] <= call.start;
    if (was_idle && op.kind == DeviceOpKind::copy) {
      own_launch_[static_cast<std::uint32_t>(i)] = op.start - call.start;
    }
    if (is_staged(capture, op) || !was_idle || excess(call) > 0) continue;
    by_call[key(call.name, op.kind)].push_back(op.start - call.start);
    by_kind[index(op.kind)].push_back(op.start - call.start);
  }
  auto& kernels = by_kind[index(DeviceOpKind::kernel)];
  launch_is_default_ = kernels.empty();
  if (!kernels.empty()) launch_of_kind_.fill(typical(kernels));
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    if (!by_kind[kind].empty()) launch_of_kind_[kind] = typical(by_kind[kind]);
  }
  launch_of_call_.assign(by_call.size(), -1);
  for (std::size_t i = 0; i < by_call.size(); ++i) {
    if (by_call[i].size() >= enough) launch_of_call_[i] = typical(by_call[i]);
  }
}

void LagModel::measure_queues(const Capture& capture, std::span<const std::uint32_t> before,
                              std::span<const Nanoseconds> events_at) {
  std::array<std::array<std::vector<Nanoseconds>, kinds>, kinds> gaps;
  std::vector<Nanoseconds> all;
  for (std::size_t i = 0; i < capture.device_ops.size(); ++i) {
    const auto& op = capture.device_ops[i];
    if (before[i] == nothing || op.launch == nothing) continue;
    const auto& first = capture.device_ops[before[i]];
    const bool was_queued =
        capture.calls[op.launch].start + 3 * launch(capture, static_cast<std::uint32_t>(i)) < first.end();
    const bool by_event = events_at[i] != never && events_at[i] + 5000 >= first.end();
    if (!was_queued || by_event || op.start < first.end()) continue;
    gaps[index(first.kind)][index(op.kind)].push_back(op.start - first.end());
    all.push_back(op.start - first.end());
  }
  if (!all.empty()) queue_all_ = mean_gap(all);
  for (std::size_t a = 0; a < kinds; ++a) {
    for (std::size_t b = 0; b < kinds; ++b) {
      queue_[a][b] = gaps[a][b].size() >= enough ? mean_gap(gaps[a][b]) : queue_all_;
    }
  }
}

void LagModel::measure_events(const Capture& capture, std::span<const std::uint32_t> before,
                              std::span<const Nanoseconds> events_at) {
  std::array<std::vector<Nanoseconds>, kinds> lags;
  for (std::size_t i = 0; i < capture.device_ops.size(); ++i) {
    const auto& op = capture.device_ops[i];
    if (events_at[i] == never || op.launch == nothing || events_at[i] > op.start) continue;
    const bool was_launched =
        capture.calls[op.launch].start + 3 * launch(capture, static_cast<std::uint32_t>(i)) < events_at[i];
    const bool was_free = before[i] == nothing || capture.device_ops[before[i]].end() + 5000 < events_at[i];
    if (was_launched && was_free) lags[index(op.kind)].push_back(op.start - events_at[i]);
  }
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    if (!lags[kind].empty()) event_[kind] = typical(lags[kind]);
  }
}

Nanoseconds LagModel::launch(const Capture& capture, std::uint32_t number) const {
  const auto& op = capture.device_ops[number];
  if (op.launch == nothing) return 0;
  if (op.kind == DeviceOpKind::copy) {
    if (const auto own = own_launch_.find(number); own != own_launch_.end()) return own->second;
  }
  const auto& call = capture.calls[op.launch];
  const std::size_t place = std::size_t{call.name} * kinds + index(op.kind);
  const Nanoseconds own = place < launch_of_call_.size() ? launch_of_call_[place] : -1;
  return (own >= 0 ? own : launch_of_kind_[index(op.kind)]) + excess(call);
}

Nanoseconds LagModel::queue(const DeviceOp& before, const DeviceOp& op) const {
  return queue_[index(before.kind)][index(op.kind)];
}

}  // namespace warploom
