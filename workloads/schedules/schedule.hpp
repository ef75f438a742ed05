// SPDX-License-Identifier: Apache-2.0
// A pipeline schedule: in which order a stage runs forward and backward of which micro-batch and which model chunk.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace warploom {

struct ScheduleShape {
  int stages = 1;
  int micro_batches = 1;
  int chunks = 1;  // model chunks (virtual stages) a stage
};

struct ScheduleStep {
  bool is_forward = true;
  int micro_batch = 0;
  int chunk = 0;
  friend bool operator==(const ScheduleStep&, const ScheduleStep&) = default;
};

struct ScheduleProblem {
  std::string message;
  std::string hint;
};

class PipelineSchedule {
 public:
  virtual ~PipelineSchedule() = default;
  // Why this shape cannot be scheduled, with what would work.
  virtual std::optional<ScheduleProblem> problem(const ScheduleShape& shape) const = 0;
  // The order on one stage; every (micro-batch, chunk) once forward and, later, once backward.
  virtual std::vector<ScheduleStep> steps(const ScheduleShape& shape, int stage) const = 0;
};

}  // namespace warploom
