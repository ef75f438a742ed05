// SPDX-License-Identifier: Apache-2.0
// Launch latencies and queue gaps, by order statistics of the capture's own times.
#include "traces/lags.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "traces/dependencies.hpp"
#include "traces/median.hpp"

namespace warploom {

namespace {

constexpr Nanoseconds never = std::numeric_limits<Nanoseconds>::min();
constexpr std::size_t enough = 8;  // samples for a figure of their own

std::size_t index(DeviceOpKind kind) { return static_cast<std::size_t>(kind); }

using Lists = std::vector<std::vector<Nanoseconds>>;

// All values of all lists, which are empty afterwards: the longest becomes the one.
std::vector<Nanoseconds> together(Lists& lists) {
  if (lists.empty()) return {};
  const auto longest =
      std::max_element(lists.begin(), lists.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
  std::vector<Nanoseconds> all = std::move(*longest);
  longest->clear();
  for (auto& list : lists) {
    all.insert(all.end(), list.begin(), list.end());
    list = {};
  }
  return all;
}

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

// When the last event had ended that each operation waited for; asked for one operation after another.
class EventTimes {
 public:
  EventTimes(const Capture& capture, std::span<const OpEdge> edges_by_to)
      : ops_(capture.device_ops), edges_(edges_by_to) {}
  Nanoseconds of(std::uint32_t op) {
    Nanoseconds latest = never;
    for (; next_ < edges_.size() && edges_[next_].to == op; ++next_) {
      latest = std::max(latest, ops_[edges_[next_].from].end());
    }
    return latest;
  }

 private:
  std::span<const DeviceOp> ops_;
  std::span<const OpEdge> edges_;
  std::size_t next_ = 0;
};

constexpr Nanoseconds long_call = 20'000;  // at least, and twice as long as usual: it was held up

}  // namespace

LagModel::LagModel(const Capture& capture, std::span<const std::uint32_t> before, std::span<const OpEdge> edges_by_to) {
  measure_calls(capture);
  measure_launches(capture, before, edges_by_to);
  measure_queues(capture, before, edges_by_to);
  measure_events(capture, before, edges_by_to);
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

void LagModel::measure_launches(const Capture& capture, std::span<const std::uint32_t> before,
                                std::span<const OpEdge> edges_by_to) {
  EventTimes events(capture, edges_by_to);
  std::array<Lists, kinds> by_call;  // by kind of operation, then by the name of the call
  by_call.fill(Lists(capture.texts.size()));
  for (std::uint32_t i = 0; i < capture.device_ops.size(); ++i) {
    const auto& op = capture.device_ops[i];
    const Nanoseconds event_at = events.of(i);
    if (op.launch == nothing) continue;
    const auto& call = capture.calls[op.launch];
    if (op.start < call.start) continue;
    const bool was_idle =
        event_at <= call.start && (before[i] == nothing || capture.device_ops[before[i]].end() <= call.start);
    if (was_idle && op.kind == DeviceOpKind::copy) own_launch_.emplace_back(i, op.start - call.start);
    if (is_staged(capture, op) || !was_idle || excess(call) > 0) continue;
    by_call[index(op.kind)][call.name].push_back(op.start - call.start);
  }
  launch_of_call_.assign(capture.texts.size() * kinds, -1);
  std::array<std::vector<Nanoseconds>, kinds> by_kind;
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    for (std::size_t call = 0; call < by_call[kind].size(); ++call) {
      auto& values = by_call[kind][call];
      if (values.size() >= enough) launch_of_call_[call * kinds + kind] = typical(values);
    }
    by_kind[kind] = together(by_call[kind]);
  }
  auto& kernels = by_kind[index(DeviceOpKind::kernel)];
  launch_is_default_ = kernels.empty();
  if (!kernels.empty()) launch_of_kind_.fill(typical(kernels));
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    if (!by_kind[kind].empty()) launch_of_kind_[kind] = typical(by_kind[kind]);
  }
}

void LagModel::measure_queues(const Capture& capture, std::span<const std::uint32_t> before,
                              std::span<const OpEdge> edges_by_to) {
  EventTimes events(capture, edges_by_to);
  Lists gaps(kinds * kinds);  // by the kinds of the two operations
  for (std::uint32_t i = 0; i < capture.device_ops.size(); ++i) {
    const auto& op = capture.device_ops[i];
    const Nanoseconds event_at = events.of(i);
    if (before[i] == nothing || op.launch == nothing) continue;
    const auto& first = capture.device_ops[before[i]];
    const bool was_queued = capture.calls[op.launch].start + 3 * launch(capture, i) < first.end();
    const bool by_event = event_at != never && event_at + 5000 >= first.end();
    if (!was_queued || by_event || op.start < first.end()) continue;
    gaps[index(first.kind) * kinds + index(op.kind)].push_back(op.start - first.end());
  }
  std::array<std::optional<Nanoseconds>, kinds * kinds> own;
  for (std::size_t pair = 0; pair < gaps.size(); ++pair) {
    if (gaps[pair].size() >= enough) own[pair] = mean_gap(gaps[pair]);
  }
  auto all = together(gaps);
  if (!all.empty()) queue_all_ = mean_gap(all);
  for (std::size_t pair = 0; pair < own.size(); ++pair) {
    queue_[pair / kinds][pair % kinds] = own[pair].value_or(queue_all_);
  }
}

void LagModel::measure_events(const Capture& capture, std::span<const std::uint32_t> before,
                              std::span<const OpEdge> edges_by_to) {
  EventTimes events(capture, edges_by_to);
  std::array<std::vector<Nanoseconds>, kinds> lags;
  for (std::uint32_t i = 0; i < capture.device_ops.size(); ++i) {
    const auto& op = capture.device_ops[i];
    const Nanoseconds event_at = events.of(i);
    if (event_at == never || op.launch == nothing || event_at > op.start) continue;
    const bool was_launched = capture.calls[op.launch].start + 3 * launch(capture, i) < event_at;
    const bool was_free = before[i] == nothing || capture.device_ops[before[i]].end() + 5000 < event_at;
    if (was_launched && was_free) lags[index(op.kind)].push_back(op.start - event_at);
  }
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    if (!lags[kind].empty()) event_[kind] = typical(lags[kind]);
  }
}

Nanoseconds LagModel::launch(const Capture& capture, std::uint32_t number) const {
  const auto& op = capture.device_ops[number];
  if (op.launch == nothing) return 0;
  if (op.kind == DeviceOpKind::copy) {
    const auto own = std::partition_point(own_launch_.begin(), own_launch_.end(),
                                          [number](const auto& of) { return of.first < number; });
    if (own != own_launch_.end() && own->first == number) return own->second;
  }
  const auto& call = capture.calls[op.launch];
  const std::size_t place = std::size_t{call.name} * kinds + index(op.kind);
  const Nanoseconds own = place < launch_of_call_.size() ? launch_of_call_[place] : -1;
  return (own >= 0 ? own : launch_of_kind_[index(op.kind)]) + excess(call);
}

}  // namespace warploom
