// SPDX-License-Identifier: Apache-2.0
// A captured run as an experiment file: what the traces show, filled up with the settings it was started with.
//
// Every line says where its value came from; what neither says stands as a comment `# not in the trace: ...` and takes
// the experiment's default. What an experiment cannot do without is listed in `missing`.
#pragma once

#include <string>
#include <vector>

#include "sim/core/library.hpp"
#include "traces/captured_run.hpp"
#include "workloads/captured/captured_shape.hpp"
#include "workloads/captured/run_settings.hpp"

namespace warploom {

struct InferredExperiment {
  std::string yaml;
  std::string model;                 // a Hugging Face config.json; empty where something of it is missing
  std::vector<std::string> missing;  // "the MLP's width (ffn-hidden-size)": then it does not run
};

// `model_file`: where the YAML says that the model lies.
InferredExperiment experiment_of(const CapturedShape& shape, const RunSettings& settings, const std::string& model_file,
                                 const Library& library = Library::from_environment());
InferredExperiment experiment_of(const CapturedRun& run, const RunSettings& settings, const std::string& model_file,
                                 const Library& library = Library::from_environment());

}  // namespace warploom
