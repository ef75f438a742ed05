// SPDX-License-Identifier: Apache-2.0
// The options, and the files.
#include "bindings/cli/write_experiment.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "sim/core/errors.hpp"
#include "sim/core/whole_file.hpp"
#include "workloads/captured/experiment_of.hpp"
#include "workloads/experiment.hpp"

namespace warploom {

void add_write_experiment_options(CLI::App* command, WriteExperimentArguments& arguments) {
  command
      ->add_option("--write-experiment", arguments.file,
                   "write what the traces show of model, batch and layout as an experiment for `warploom run`")
      ->type_name(file_label);
  command
      ->add_option("--settings", arguments.settings,
                   "with --write-experiment: the run's own settings, for what the traces lack (Megatron-LM's "
                   "arguments or log, torchtitan's job file, vLLM's arguments)")
      ->type_name(file_label);
}

void write_experiment(const WriteExperimentArguments& arguments, const CapturedRun& run, Session& session) {
  const RunSettings settings = arguments.settings.empty() ? RunSettings() : read_run_settings(arguments.settings);
  const std::filesystem::path file = arguments.file;
  const std::string model = file.stem().string() + ".model.json";
  const InferredExperiment experiment = experiment_of(run, settings, model);
  if (!experiment.missing.empty()) {
    throw UserError(fmt::format("the traces do not show all that an experiment needs; missing: {}",
                                fmt::join(experiment.missing, "; ")),
                    arguments.settings.empty() ? "give the run's settings with `--settings FILE`"
                                               : "the settings do not say it either");
  }
  const std::string model_path = (file.parent_path() / model).string();
  write_whole_files({{file.string(), experiment.yaml}, {model_path, experiment.model}});
  const Experiment loaded = Experiment::load(file.string());
  std::string text =
      fmt::format("\nWritten to {} and {}: {} devices, {} layers; `warploom run {}`\n", file.string(), model_path,
                  loaded.job().layout.device_count(), loaded.job().model.layers, file.string());
  for (const auto& warning : loaded.warnings()) text += "  " + warning + "\n";
  session.console.tell(text);
}

}  // namespace warploom
