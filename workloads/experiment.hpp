// SPDX-License-Identifier: Apache-2.0
// From an experiment file to an explained run: the one place that builds a machine and a program from a configuration.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hw_models/ideal_device.hpp"
#include "sim/core/config_value.hpp"
#include "sim/core/library.hpp"
#include "sim/play/ports.hpp"
#include "sim/play/report.hpp"
#include "sim/play/timeline.hpp"
#include "sim/work/program.hpp"
#include "workloads/training/training_job.hpp"

namespace warploom {

struct RunOptions {
  bool unfold = false;  // every device its own role
  std::function<void(std::size_t done, std::size_t all)> progress;
};

struct RunResult {
  Program program;
  Timeline timeline;
  Report report;
};

struct ExperimentOptions {
  std::vector<Ideal> ideals = {};  // "what if this were free"
  bool uses_cache = true;          // of the detailed kernel timer
};

// Is immutable: may be run many times, also at once from several threads.
class Experiment {
 public:
  // Reads and checks everything; throws ConfigError with all mistakes.
  static Experiment load(const std::string& path, const std::vector<std::string>& overrides = {},
                         const ExperimentOptions& options = {});
  static Experiment from_config(const ConfigValue& resolved, const Library& library = Library::from_environment(),
                                const ExperimentOptions& options = {});

  const ConfigValue& resolved() const { return resolved_; }
  const std::string& name() const { return name_; }
  const Machine& machine() const { return *machine_; }
  const TrainingJob& job() const { return job_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

  // Throws UserError for a model that does not fit (unless the file allows it), with what would.
  RunResult run(const RunOptions& options = {}) const;

  // JSON Schema of experiment files.
  static std::string schema();

 private:
  Experiment() = default;
  void identify(Report& report) const;
  void require_fit(const Report& report) const;

  ConfigValue resolved_;
  std::string name_;
  std::uint64_t seed_ = 0;
  std::shared_ptr<const Machine> machine_;
  TrainingJob job_;
  bool allows_oversubscribed_memory_ = false;
  std::vector<std::string> assumptions_;
  std::vector<std::string> warnings_;
};

}  // namespace warploom
