// SPDX-License-Identifier: Apache-2.0
// Tries the usual changes one by one, builds each step and adds up its memory.
#include "workloads/memory_advice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

namespace warploom {

Bytes peak_in_program_order(const Program& program) {
  std::vector<std::int64_t> now;
  for (const auto& role : program.roles) {
    now.push_back(std::accumulate(role.resident_bytes.begin(), role.resident_bytes.end(), std::int64_t{0}));
  }
  std::vector<std::int64_t> peak = now;
  for (RowId row = 0; row < program.size(); ++row) {
    const RoleId role = program.role_of(row);
    for (const bool at_end : {false, true}) {
      for (const auto& delta : program.memory_deltas(row)) {
        if (delta.at_end == at_end) now[role] += delta.bytes;
      }
      peak[role] = std::max(peak[role], now[role]);
    }
  }
  return Bytes(*std::max_element(peak.begin(), peak.end()));
}

namespace {

struct Change {
  std::string text;
  std::function<void(TrainingJob&)> apply;
};

std::vector<Change> changes(const TrainingJob& job) {
  std::vector<Change> list;
  if (job.training.zero == 0 && job.data() > 1) {
    list.push_back({"training.zero: 1", [](TrainingJob& j) { j.training.zero = 1; }});
  }
  if (job.training.zero < 2 && job.data() > 1) {
    list.push_back({"training.zero: 2", [](TrainingJob& j) { j.training.zero = 2; }});
  }
  if (job.training.zero < 3 && job.replicas() > 1) {
    list.push_back({"training.zero: 3", [](TrainingJob& j) { j.training.zero = 3; }});
  }
  if (job.training.recompute == Recompute::none) {
    list.push_back(
        {"training.recompute: selective", [](TrainingJob& j) { j.training.recompute = Recompute::selective; }});
  }
  if (job.training.recompute != Recompute::full) {
    list.push_back({"training.recompute: full", [](TrainingJob& j) { j.training.recompute = Recompute::full; }});
  }
  if (job.training.micro_batch > 1) {
    list.push_back({"training.micro_batch: 1", [](TrainingJob& j) { j.training.micro_batch = 1; }});
  }
  if (job.layout.tensor > 1 && !job.layout.sequence_parallel) {
    list.push_back({"layout.sequence_parallel: true", [](TrainingJob& j) { j.layout.sequence_parallel = true; }});
  }
  for (const std::int64_t factor : {2, 4}) {
    list.push_back({fmt::format("layout.pipeline: {}", job.layout.pipeline * factor), [factor](TrainingJob& j) {
                      j.layout.pipeline *= factor;
                      j.layout.data.reset();
                    }});
    list.push_back({fmt::format("layout.tensor: {}", job.layout.tensor * factor), [factor](TrainingJob& j) {
                      j.layout.tensor *= factor;
                      j.layout.data.reset();
                    }});
  }
  return list;
}

// The changed job if it can run at all.
bool is_sound(TrainingJob& job, std::int64_t devices) {
  const LayoutNeeds needs{devices, 8, job.training.global_batch, job.training.micro_batch};
  for (const auto& problem : resolve_layout(job.layout, job.model, needs)) {
    if (!problem.is_warning || problem.key == "tensor") return false;
  }
  if (job.layout.cuts_sequence() && job.training.sequence_length % job.layout.tensor != 0) return false;
  const ScheduleShape shape{static_cast<int>(job.layout.pipeline), job.micro_batches(),
                            static_cast<int>(job.layout.virtual_stages)};
  return !job.schedule->problem(shape);
}

// Larger steps are not tried: advice must not take longer than the run.
constexpr double most_rows = 3e6;

}  // namespace

std::string memory_advice(const TrainingJob& job, Bytes usable) {
  std::vector<std::string> fitting;
  std::string least_text;
  Bytes least = Bytes::max();
  for (const auto& change : changes(job)) {
    TrainingJob changed = job;
    changed.unfold = false;
    change.apply(changed);
    if (!is_sound(changed, job.layout.device_count()) || estimated_rows(changed) > most_rows) continue;
    const Bytes peak = peak_in_program_order(build_training_step(changed));
    if (peak <= usable) fitting.push_back(fmt::format("{} ({})", change.text, to_string(peak)));
    if (peak < least) {
      least = peak;
      least_text = fmt::format("{} ({})", change.text, to_string(peak));
    }
  }
  if (!fitting.empty()) return fmt::format("any of these alone would fit: {}", fmt::join(fitting, ", "));
  const std::string anyway = "; allow_oversubscribed_memory: true reports it anyway";
  if (least_text.empty()) return "use more devices, with a larger pipeline or tensor dimension" + anyway;
  return fmt::format("no single change fits; the largest saving is {}: combine several, or use more devices{}",
                     least_text, anyway);
}

}  // namespace warploom
