// SPDX-License-Identifier: Apache-2.0
// Lists by call and by stream, in order of the calls' starts.
#include "traces/launch_order.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "traces/link.hpp"
#include "traces/reorder.hpp"

namespace warploom {

namespace {

constexpr Nanoseconds never = std::numeric_limits<Nanoseconds>::min();

}  // namespace

LaunchOrder::LaunchOrder(const Capture& capture)
    : capture_(capture),
      calls_(sorted_places(
          capture.calls.size(),
          [&](std::uint32_t a, std::uint32_t b) { return capture.calls[a].start < capture.calls[b].start; })),
      of_call_(capture.calls.size(),
               [&](auto emit) {
                 for (std::uint32_t i = 0; i < capture.device_ops.size(); ++i) {
                   if (capture.device_ops[i].launch != nothing) emit(capture.device_ops[i].launch, i);
                 }
               }),
      given_(capture.streams.size(), [&](auto emit) {
        for (std::uint32_t i = 0; i < capture.device_ops.size(); ++i) emit(capture.device_ops[i].stream, i);
      }) {
  sort_given();
  if (!capture.syncs.empty()) call_of_ = calls_by_correlation(capture);
}

// By when they were given, then by their ends.
void LaunchOrder::sort_given() {
  const auto key = [this](std::uint32_t index) { return std::pair(given_at(index), op(index).end()); };
  std::vector<std::pair<Nanoseconds, Nanoseconds>> last(given_.size(), {never, never});
  std::vector<bool> is_sorted(given_.size(), true);
  for (std::uint32_t i = 0; i < capture_.device_ops.size(); ++i) {
    const std::uint32_t stream = op(i).stream;
    const auto own = key(i);
    if (own < last[stream]) is_sorted[stream] = false;
    last[stream] = own;
  }
  for (std::size_t stream = 0; stream < given_.size(); ++stream) {
    if (is_sorted[stream]) continue;
    const auto given = given_[stream];
    std::stable_sort(given.begin(), given.end(), [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  }
}

std::uint32_t LaunchOrder::last_before(std::uint32_t stream, Nanoseconds time) const {
  const auto given = given_[stream];
  const auto place =
      std::partition_point(given.begin(), given.end(), [&](std::uint32_t item) { return given_at(item) < time; });
  return place == given.begin() ? nothing : *std::prev(place);
}

std::uint32_t LaunchOrder::first_after(std::uint32_t stream, Nanoseconds time) const {
  const auto given = given_[stream];
  const auto place =
      std::partition_point(given.begin(), given.end(), [&](std::uint32_t item) { return given_at(item) < time; });
  return place == given.end() ? nothing : *place;
}

std::uint32_t LaunchOrder::last_ended(std::uint32_t stream, Nanoseconds given_before, Nanoseconds ended_by,
                                      std::size_t farthest) const {
  const auto given = given_[stream];
  auto place = std::partition_point(given.begin(), given.end(),
                                    [&](std::uint32_t item) { return given_at(item) <= given_before; });
  std::uint32_t latest = nothing;
  std::size_t found = 0;
  // Streams run nearly in order: what was given earlier ended earlier.
  for (std::size_t looked = 0; place != given.begin() && looked < farthest && found < 4; ++looked) {
    const std::uint32_t candidate = *--place;
    if (op(candidate).end() > ended_by) continue;
    ++found;
    if (latest == nothing || op(candidate).end() > op(latest).end()) latest = candidate;
  }
  return latest;
}

std::optional<Nanoseconds> LaunchOrder::start_of_call(std::uint64_t correlation) const {
  const std::uint32_t call = call_of_.find(correlation);
  if (call == nothing) return std::nullopt;
  return capture_.calls[call].start;
}

}  // namespace warploom
