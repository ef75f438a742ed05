// SPDX-License-Identifier: Apache-2.0
// A published training step: what a row of a table says of it, and the steps that it may mean.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/csv.hpp"
#include "workloads/training/training_job.hpp"

namespace warploom {

// The columns that decide the step. A blank one is not published.
struct TrainingRow {
  std::string task, hardware, interconnect, framework, model, precision, zero, recompute, sequence_parallel, schedule,
      notes;
  std::optional<std::int64_t> devices, layers, hidden, heads, kv_heads, ffn, vocab, experts;
  std::optional<std::int64_t> sequence_length, global_batch, micro_batch;
  std::optional<std::int64_t> tensor, pipeline, virtual_stages, context, data;
};
TrainingRow training_row(const CsvRow& row);

// Where a row ran: files of the library, and what differs from them.
struct TrainingMachine {
  std::string device;   // canonical
  std::string cluster;  // `clusters/selene_a100`
  std::vector<std::string> device_overrides;
  std::vector<std::string> cluster_overrides;

  std::string key() const;
};

// All steps that a row may mean: one where everything that matters is published, else one for every setting that is
// left open and can run. Throws UserError with the reason where there is none.
struct TrainingCases {
  TrainingMachine machine;
  std::vector<TrainingJob> jobs;
};
TrainingCases training_cases(const TrainingRow& row);

}  // namespace warploom
