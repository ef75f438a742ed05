// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes are either settings of a run, whose numbers are in range, or a UserError; never a crash. What
// is read makes an experiment, or says what is missing.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sim/core/errors.hpp"
#include "workloads/captured/experiment_of.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace warploom;
  try {
    const RunSettings settings = parse_run_settings({reinterpret_cast<const char*>(data), size}, "settings");
    if (settings.used < 1) std::abort();
    for (const auto& number : {settings.tensor, settings.data, settings.layers, settings.hidden, settings.global_batch,
                               settings.virtual_stages}) {
      if (number && *number < 1) std::abort();
    }
    const Library nothing_known;
    const InferredExperiment experiment = experiment_of(CapturedShape(), settings, "model.json", nothing_known);
    if (experiment.missing.empty()) std::abort();  // no device is known
  } catch (const UserError& error) {
    if (error.message().empty()) std::abort();
  }
  return 0;
}
