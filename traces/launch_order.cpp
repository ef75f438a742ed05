// SPDX-License-Identifier: Apache-2.0
// Lists by call and by stream, in order of the calls' starts.
#include "traces/launch_order.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace warploom {

LaunchOrder::LaunchOrder(const Capture& capture)
    : calls_(capture.calls.size()), ops_begin_(capture.calls.size() + 1, 0), by_stream_(capture.streams.size()) {
  std::iota(calls_.begin(), calls_.end(), 0U);
  const auto earlier = [&](std::uint32_t a, std::uint32_t b) {
    return capture.calls[a].start < capture.calls[b].start;
  };
  if (!std::is_sorted(calls_.begin(), calls_.end(), earlier)) std::stable_sort(calls_.begin(), calls_.end(), earlier);
  for (const auto& op : capture.device_ops) {
    if (op.launch != nothing) ++ops_begin_[op.launch + 1];
  }
  std::partial_sum(ops_begin_.begin(), ops_begin_.end(), ops_begin_.begin());
  ops_.resize(ops_begin_.back());
  std::vector<std::uint32_t> fill(ops_begin_.begin(), ops_begin_.end() - 1);
  for (std::uint32_t i = 0; i < capture.device_ops.size(); ++i) {
    const auto& op = capture.device_ops[i];
    // What no call launched was given, for all that is known, when it began.
    by_stream_[op.stream].push_back({op.launch != nothing ? capture.calls[op.launch].start : op.start, i});
    if (op.launch != nothing) ops_[fill[op.launch]++] = i;
  }
  const auto given_earlier = [&](const Given& a, const Given& b) {
    return std::tuple(a.at, capture.device_ops[a.op].end()) < std::tuple(b.at, capture.device_ops[b.op].end());
  };
  for (auto& given : by_stream_) {
    if (!std::is_sorted(given.begin(), given.end(), given_earlier)) {
      std::stable_sort(given.begin(), given.end(), given_earlier);
    }
  }
  if (capture.syncs.empty()) return;
  start_of_.reserve(capture.calls.size());
  for (const auto& call : capture.calls) {
    if (call.correlation != 0) start_of_.emplace(call.correlation, call.start);
  }
}

std::uint32_t LaunchOrder::last_before(std::uint32_t stream, Nanoseconds time) const {
  const auto& given = by_stream_[stream];
  const auto place =
      std::partition_point(given.begin(), given.end(), [&](const Given& item) { return item.at < time; });
  return place == given.begin() ? nothing : std::prev(place)->op;
}

std::uint32_t LaunchOrder::last_ended(std::uint32_t stream, Nanoseconds given_before, Nanoseconds ended_by,
                                      std::span<const DeviceOp> ops, std::size_t farthest) const {
  const auto& given = by_stream_[stream];
  auto place =
      std::partition_point(given.begin(), given.end(), [&](const Given& item) { return item.at <= given_before; });
  std::uint32_t latest = nothing;
  std::size_t found = 0;
  // Streams run nearly in order: what was given earlier ended earlier.
  for (std::size_t looked = 0; place != given.begin() && looked < farthest && found < 4; ++looked) {
    const std::uint32_t op = (--place)->op;
    if (ops[op].end() > ended_by) continue;
    ++found;
    if (latest == nothing || ops[op].end() > ops[latest].end()) latest = op;
  }
  return latest;
}

std::uint32_t LaunchOrder::first_after(std::uint32_t stream, Nanoseconds time) const {
  const auto& given = by_stream_[stream];
  const auto place =
      std::partition_point(given.begin(), given.end(), [&](const Given& item) { return item.at < time; });
  return place == given.end() ? nothing : place->op;
}

std::optional<Nanoseconds> LaunchOrder::start_of_call(std::uint64_t correlation) const {
  const auto place = start_of_.find(correlation);
  if (correlation == 0 || place == start_of_.end()) return std::nullopt;
  return place->second;
}

}  // namespace warploom
