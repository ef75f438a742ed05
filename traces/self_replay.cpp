// SPDX-License-Identifier: Apache-2.0
// Starts compared one by one, spans as a whole.
#include "traces/self_replay.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "sim/play/executor.hpp"
#include "traces/metrics.hpp"
#include "traces/recorded_time.hpp"

namespace warploom {

namespace {

Nanoseconds quantile(const std::vector<Nanoseconds>& sorted, double share) {
  const auto last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<std::size_t>(std::llround(share * last))];
}

}  // namespace

double RankReplay::span_error() const {
  if (measured.length() == 0) return 0;
  return static_cast<double>(replayed.length() - measured.length()) / static_cast<double>(measured.length());
}

SelfReplay compare_with_capture(const std::vector<Capture>& captures, const CapturedProgram& captured,
                                const Timeline& timeline) {
  SelfReplay result;
  for (std::size_t i = 0; i < captures.size(); ++i) {
    RankReplay rank;
    rank.rank = known_rank(captures[i]);
    std::vector<Nanoseconds> errors;
    for (std::size_t k = 0; k < captures[i].device_ops.size(); ++k) {
      const auto& op = captures[i].device_ops[k];
      if (!is_work(op)) continue;
      const RowId row = captured.row_of_op[i][k];
      const Interval replayed{captured.origin[i] + nanoseconds(timeline.ready[row]),
                              captured.origin[i] + nanoseconds(timeline.end[row])};
      if (errors.empty()) {
        rank.measured = {op.start, op.end()};
        rank.replayed = replayed;
      }
      errors.push_back(std::abs(replayed.begin - op.start));
      rank.measured = {std::min(rank.measured.begin, op.start), std::max(rank.measured.end, op.end())};
      rank.replayed = {std::min(rank.replayed.begin, replayed.begin), std::max(rank.replayed.end, replayed.end)};
    }
    if (errors.empty()) continue;
    rank.exposed_communication = exposed_communication(captures[i], captured.row_of_op[i], timeline);
    std::sort(errors.begin(), errors.end());
    rank.start_error_p50 = quantile(errors, 0.5);
    rank.start_error_p95 = quantile(errors, 0.95);
    rank.start_error_max = errors.back();
    result.error = std::max(result.error, std::abs(rank.span_error()));
    result.ranks.push_back(rank);
  }
  return result;
}

Nanoseconds exposed_communication(const Capture& capture, std::span<const RowId> row_of_op, const Timeline& timeline) {
  std::vector<Interval> compute;
  std::vector<Interval> communication;
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
