// SPDX-License-Identifier: Apache-2.0
// `--write-experiment FILE` and `--settings FILE`: a captured run as an experiment file.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

#include "bindings/cli/command.hpp"
#include "traces/captured_run.hpp"

namespace warploom {

struct WriteExperimentArguments {
  std::string file;      // the experiment; the model lies beside it as NAME.model.json; empty: not asked for
  std::string settings;  // of the run; empty: none
};

void add_write_experiment_options(CLI::App* command, WriteExperimentArguments& arguments);

// Writes both files and says so; throws UserError for what is missing to an experiment that runs.
void write_experiment(const WriteExperimentArguments& arguments, const CapturedRun& run, Session& session);

}  // namespace warploom
