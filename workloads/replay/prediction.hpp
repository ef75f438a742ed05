// SPDX-License-Identifier: Apache-2.0
// What a captured run would take elsewhere: on another cluster, with another host, with some of it changed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/library.hpp"
#include "sim/play/report.hpp"
#include "workloads/replay/kernel_changes.hpp"
#include "workloads/replay/retime.hpp"

namespace warploom {

struct ReplayQuestion {
  std::string on;  // a cluster, or a device whose node the library has; empty: where it was captured
  std::vector<std::string> overrides;  // of that cluster
  std::string source;                  // likewise; empty: by the device's name in the capture
  std::string what_if;                 // a file of edits; empty: none
  std::int64_t ranks = 0;              // that the one capture stands for; 0: what the captures say
  bool ignores_shapes = false;         // as if none had been recorded: what scaling by class alone is worth
  std::function<void(std::size_t done, std::size_t all)> progress;

  // Anything beyond the unchanged replay.
  bool asks() const { return !on.empty() || !overrides.empty() || ranks > 0 || !what_if.empty(); }
};

struct PredictedRank {
  std::optional<std::int64_t> rank;
  Nanoseconds measured = 0;   // span of work
  Nanoseconds unchanged = 0;  // replayed as captured
  Nanoseconds predicted = 0;
  Nanoseconds exposed_communication = 0;  // predicted: waiting and transfer where nothing computes
};

struct PredictedStep {
  std::int64_t number = -1;
  Nanoseconds measured = 0;  // from the first to the last of what the step launched, over all ranks
  Nanoseconds predicted = 0;
};

struct ReplayPrediction {
  std::string source;  // the devices' names in the library, or as captured
  std::string target;  // the cluster's name
  std::string target_device;
  Retimed retimed;
  CapturedProgram captured;
  Timeline timeline;
  Report report;  // of the whole run on the target
  std::vector<PredictedRank> ranks;
  std::vector<PredictedStep> steps;
  std::vector<KernelChange> kernels;
  bool is_same_hardware = false;  // nothing of it is changed: all takes what it took, but for edits
  // Unchanged / predicted of the longest rank; none where nothing is left to do.
  std::optional<double> speed_up() const;
  // The run's time lies within with about 80% probability, as far as the classes' measured errors tell.
  double relative_error = 0;
  std::string error_of;
};

// Throws UserError where no device did anything: there is nothing to play.
void require_device_work(const CapturedRun& run);

// Throws UserError for a target that is not known, has fewer devices, or cannot run what was captured, and for a
// what-if that fits nothing or needs hardware that is not known.
ReplayPrediction predict_replay(const CapturedRun& run, const ReplayQuestion& question,
                                const Library& library = Library::from_environment());

}  // namespace warploom
