// SPDX-License-Identifier: Apache-2.0
// Times of captures and of their replays, added up in the same way.
#include "workloads/validation/replay_row.hpp"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "traces/intervals.hpp"
#include "traces/metrics.hpp"
#include "traces/recorded_time.hpp"
#include "workloads/replay/prediction.hpp"
#include "workloads/replay/source.hpp"
#include "workloads/validation/validation_context.hpp"

namespace warploom {

namespace {

constexpr double nanoseconds_a_microsecond = 1000.0;

ReplayPart part_of(OpClass op_class) {
  switch (op_class) {
    case OpClass::gemm:
      return ReplayPart::gemm;
    case OpClass::attention:
      return ReplayPart::attention;
    default:
      return ReplayPart::other_kernels;
  }
}

// `interval_of(capture, op)` and `duration_of(capture, op)` in nanoseconds, of the operations that are work.
ReplayTimes times_of(const CapturedRun& run, const std::function<Interval(std::size_t, std::size_t)>& interval_of,
                     const std::function<Nanoseconds(std::size_t, std::size_t)>& duration_of) {
  std::array<Nanoseconds, replay_part_names.size()> sums{};
  const auto sum = [&](ReplayPart part) -> Nanoseconds& { return sums[static_cast<std::size_t>(part)]; };
  for (std::size_t i = 0; i < run.captures.size(); ++i) {
    std::vector<Interval> work;
    for (std::size_t k = 0; k < run.captures[i].device_ops.size(); ++k) {
      const DeviceOp& op = run.captures[i].device_ops[k];
      if (!is_work(op)) continue;
      work.push_back(interval_of(i, k));
      if (op.op_class != OpClass::communication && op.op_class != OpClass::copy)
        sum(part_of(op.op_class)) += duration_of(i, k);
    }
    if (work.empty()) continue;
    const IntervalSet set(std::move(work));
    sum(ReplayPart::busy) += set.length();
    if (set.parts().empty()) continue;
    const Nanoseconds span = set.parts().back().end - set.parts().front().begin;
    sum(ReplayPart::span) = std::max(sum(ReplayPart::span), span);
  }
  ReplayTimes times{};
  for (std::size_t i = 0; i < times.size(); ++i) times[i] = static_cast<double>(sums[i]) / nanoseconds_a_microsecond;
  return times;
}

// In a play of the program.
ReplayTimes played_times(const CapturedRun& run, const CapturedProgram& captured, const Timeline& timeline,
                         const Retiming& retiming) {
  const auto interval_of = [&](std::size_t capture, std::size_t op) {
    const RowId row = captured.row_of_op[capture][op];
    return Interval{nanoseconds(timeline.ready[row]), nanoseconds(timeline.end[row])};
  };
  const auto duration_of = [&](std::size_t capture, std::size_t op) {
    return retiming.durations.empty() ? run.captures[capture].device_ops[op].duration : retiming.durations[capture][op];
  };
  return times_of(run, interval_of, duration_of);
}

}  // namespace

const CapturedRun& captured_run(const std::string& path, ValidationContext& context) {
  return context.lasting_memo<CapturedRun>(path, [&] {
    const std::vector<std::string> paths = {path};
    return understand(paths);
  });
}

std::string device_of(const CapturedRun& run, ValidationContext& context) {
  const std::string name = captured_device(run);
  const std::string canonical = context.canonical_device(name);
  return canonical.empty() ? name : canonical;
}

ReplayTimes captured_times(const CapturedRun& run) {
  const auto op_of = [&](std::size_t capture, std::size_t op) -> const DeviceOp& {
    return run.captures[capture].device_ops[op];
  };
  return times_of(
      run, [&](std::size_t i, std::size_t k) { return Interval{op_of(i, k).start, op_of(i, k).end()}; },
      [&](std::size_t i, std::size_t k) { return op_of(i, k).duration; });
}

const ReplayTimes& replayed_times(const std::string& path, ReplayMode mode, const std::string& device,
                                  ValidationContext& context) {
  const std::string key = path + "\n" + std::to_string(static_cast<int>(mode)) + "\n" + device;
  return context.memo<ReplayTimes>(key, [&] {
    const CapturedRun& run = captured_run(path, context);
    if (mode == ReplayMode::unchanged) return played_times(run, run.captured, run.timeline, {});
    ReplayQuestion question;
    question.on = device;
    question.ignores_shapes = mode == ReplayMode::by_class;
    const ReplayPrediction prediction = predict_replay(run, question, context.library());
    return played_times(run, prediction.captured, prediction.timeline, prediction.retimed.retiming);
  });
}

}  // namespace warploom
