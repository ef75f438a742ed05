// SPDX-License-Identifier: Apache-2.0
// Starts compared one by one, spans as a whole.
#include "traces/self_replay.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "sim/core/parallel.hpp"
#include "sim/play/executor.hpp"
#include "traces/metrics.hpp"
#include "traces/recorded_time.hpp"

namespace warploom {

namespace {

// Changes the order of `values`.
Nanoseconds quantile(std::vector<Nanoseconds>& values, double share) {
  const auto last = static_cast<double>(values.size() - 1);
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(std::llround(share * last));
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

// Spans, and how far starts are off; nothing for a capture without work.
std::optional<RankReplay> compare_starts(const Capture& capture, std::span<const RowId> row_of_op, Nanoseconds origin,
                                         const Timeline& timeline) {
  RankReplay rank;
  rank.rank = known_rank(capture);
  std::vector<Nanoseconds> errors;
  errors.reserve(capture.device_ops.size());
  for (std::size_t i = 0; i < capture.device_ops.size(); ++i) {
    const auto& op = capture.device_ops[i];
    if (!is_work(op)) continue;
    const RowId row = row_of_op[i];
    const Interval replayed{origin + nanoseconds(timeline.ready[row]), origin + nanoseconds(timeline.end[row])};
    if (errors.empty()) {
      rank.measured = {op.start, op.end()};
      rank.replayed = replayed;
    }
    errors.push_back(std::abs(replayed.begin - op.start));
    rank.measured = {std::min(rank.measured.begin, op.start), std::max(rank.measured.end, op.end())};
    rank.replayed = {std::min(rank.replayed.begin, replayed.begin), std::max(rank.replayed.end, replayed.end)};
  }
  if (errors.empty()) return std::nullopt;
  rank.start_error_p50 = quantile(errors, 0.5);
  rank.start_error_p95 = quantile(errors, 0.95);
  rank.start_error_max = *std::max_element(errors.begin(), errors.end());
  return rank;
}

std::optional<RankReplay> compare(const Capture& capture, std::span<const RowId> row_of_op, Nanoseconds origin,
                                  const Timeline& timeline) {
  std::optional<RankReplay> rank;
  Nanoseconds exposed = 0;
  in_parallel([&] { rank = compare_starts(capture, row_of_op, origin, timeline); },
              [&] { exposed = exposed_communication(capture, row_of_op, timeline); });
  if (rank) rank->exposed_communication = exposed;
  return rank;
}

}  // namespace

double RankReplay::span_error() const {
  if (measured.length() == 0) return 0;
  return static_cast<double>(replayed.length() - measured.length()) / static_cast<double>(measured.length());
}

SelfReplay compare_with_capture(const std::vector<Capture>& captures, const CapturedProgram& captured,
                                const Timeline& timeline) {
  std::vector<std::optional<RankReplay>> ranks(captures.size());
  in_parallel(captures.size(), [&](std::size_t i) {
    ranks[i] = compare(captures[i], captured.row_of_op[i], captured.origin[i], timeline);
  });
  SelfReplay result;
  for (const auto& rank : ranks) {
    if (!rank) continue;
    result.error = std::max(result.error, std::abs(rank->span_error()));
    result.ranks.push_back(*rank);
  }
  return result;
}

Nanoseconds exposed_communication(const Capture& capture, std::span<const RowId> row_of_op, const Timeline& timeline) {
  std::vector<Interval> compute;
  std::vector<Interval> communication;
  compute.reserve(capture.device_ops.size());
  for (std::size_t i = 0; i < capture.device_ops.size(); ++i) {
    const auto& op = capture.device_ops[i];
    if (!is_work(op) || work_kind(op) == WorkKind::memory || row_of_op[i] == none) continue;
    const Interval one{nanoseconds(timeline.ready[row_of_op[i]]), nanoseconds(timeline.end[row_of_op[i]])};
    (work_kind(op) == WorkKind::communication ? communication : compute).push_back(one);
  }
  const IntervalSet communicates(std::move(communication));
  return communicates.length() - common(communicates, IntervalSet(std::move(compute)));
}

Timeline play_as_captured(const Program& program) {
  Machine machine;
  machine.name = "as captured";
  machine.device_classes.emplace_back();
  return play(program, machine);
}

}  // namespace warploom
