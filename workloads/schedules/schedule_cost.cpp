// SPDX-License-Identifier: Apache-2.0
// Each step begins when its stage is free and its message is there; stages take turns until nothing waits.
#include "workloads/schedules/schedule_cost.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "sim/core/errors.hpp"

namespace warploom {

namespace {

class Play {
 public:
  Play(const PipelineSchedule& schedule, const ScheduleShape& shape, const StageTimes& times)
      : shape_(shape),
        times_(times),
        ends_(2 * static_cast<std::size_t>(shape.stages) * static_cast<std::size_t>(shape.micro_batches) *
              static_cast<std::size_t>(shape.chunks)) {
    for (int s = 0; s < shape.stages; ++s) stages_.push_back({schedule.steps(shape, s), 0, Time::zero(), {}});
  }

  Time cost() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int s = 0; s < shape_.stages; ++s) {
        while (advance(s)) moved = true;
      }
    }
    Time longest = Time::zero();
    for (const Stage& stage : stages_) {
      WARPLOOM_CHECK(stage.next == stage.steps.size(), "a schedule that cannot end");
      if (stage.begin) longest = std::max(longest, stage.free - *stage.begin);
    }
    return longest;
  }

 private:
  struct Stage {
    std::vector<ScheduleStep> steps;
    std::size_t next = 0;
    Time free;
    std::optional<Time> begin;
  };

  std::optional<Time>& end_of(bool is_forward, int chunk_of_model, int micro_batch) {
    const auto chunks = static_cast<std::size_t>(shape_.stages * shape_.chunks);
    return ends_[(static_cast<std::size_t>(micro_batch) * chunks + static_cast<std::size_t>(chunk_of_model)) * 2 +
                 (is_forward ? 0 : 1)];
  }

  // Runs the stage's next step if what it needs is there.
  bool advance(int s) {
    Stage& stage = stages_[static_cast<std::size_t>(s)];
    if (stage.next == stage.steps.size()) return false;
    const ScheduleStep& step = stage.steps[stage.next];
    const int chunk = step.chunk * shape_.stages + s;
    const int last = shape_.stages * shape_.chunks - 1;
    Time ready = Time::zero();
    if (step.is_forward ? chunk > 0 : chunk < last) {
      const auto& sent = end_of(step.is_forward, chunk + (step.is_forward ? -1 : 1), step.micro_batch);
      if (!sent) return false;
      ready = *sent + times_.message;
    } else if (!step.is_forward) {
      ready = *end_of(true, chunk, step.micro_batch);
    }
    const Time begin = std::max(stage.free, ready);
    if (!stage.begin) stage.begin = begin;
    stage.free = begin + (step.is_forward ? times_.forward : times_.backward) * (1.0 / shape_.chunks);
    end_of(step.is_forward, chunk, step.micro_batch) = stage.free;
    ++stage.next;
    return true;
  }

  ScheduleShape shape_;
  StageTimes times_;
  std::vector<std::optional<Time>> ends_;  // by micro-batch, chunk of the model, direction
  std::vector<Stage> stages_;
};

}  // namespace

Time schedule_cost(const PipelineSchedule& schedule, const ScheduleShape& shape, const StageTimes& times) {
  if (const auto problem = schedule.problem(shape)) throw UserError(problem->message, problem->hint);
  return Play(schedule, shape, times).cost();
}

}  // namespace warploom
