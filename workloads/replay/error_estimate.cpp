// SPDX-License-Identifier: Apache-2.0
// Measured errors, weighted.
#include "workloads/replay/error_estimate.hpp"

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>

#include "workloads/device_lookup.hpp"
#include "workloads/replay/replay_errors.hpp"
#include "workloads/validation/error_bands.hpp"

namespace warploom {

namespace {

// The mean error of the class on a device, over its recorded bands; the mean of all devices where it has none.
double class_error(const ErrorBands& bands, std::string_view kind, const std::string& device) {
  double own = 0;
  double own_rows = 0;
  double all = 0;
  double all_rows = 0;
  for (const auto& band : bands.all()) {
    if (band.kind != kind) continue;
    const auto rows = static_cast<double>(band.rows);
    all += band.mape * rows;
    all_rows += rows;
    if (band.device != device) continue;
    own += band.mape * rows;
    own_rows += rows;
  }
  if (own_rows > 0) return own / own_rows;
  return all_rows > 0 ? all / all_rows : 0.1;
}

}  // namespace

void estimate_error(const CapturedRun& run, bool is_edited, const Library& library, ReplayPrediction& prediction) {
  const std::string& source = prediction.source;
  const ErrorBands bands = ErrorBands::load_with_devices(library);
  const ReplayErrors measured = load_replay_errors(library);
  const DeviceLookup devices(library);
  const auto is_measured = [&](const std::string& device) {
    const auto known = devices.canonical_name(device);
    return known && bands.has_architecture(devices.find(*known).spec.architecture.name);
  };
  const ClassErrors& anchored =
      is_measured(source) && is_measured(prediction.target_device) ? measured.anchored : measured.unmeasured;
  double error = run.self.error;
  double total = 0;
  for (const double seconds : prediction.report.seconds) total += seconds;
  const auto seconds = [&](Cause cause) { return prediction.report.seconds[static_cast<std::size_t>(cause)]; };
  const auto weighted = [&](std::initializer_list<OpClass> classes, const char* kind, double ClassErrors::* of) {
    const bool elsewhere = prediction.target_device != source;
    const std::array<double, 4> of_basis = {anchored.*of, class_error(bands, kind, prediction.target_device),
                                            measured.scaled.*of, elsewhere ? measured.kept.*of : 0.0};
    double sum = 0;
    double weight = 0;
    for (const OpClass op_class : classes) {
      const auto& sums = prediction.retimed.classes[static_cast<std::size_t>(op_class)];
      for (std::size_t i = 0; i < of_basis.size(); ++i) {
        sum += of_basis[i] * static_cast<double>(sums.measured[i]);
        weight += static_cast<double>(sums.measured[i]);
      }
    }
    return weight > 0 ? sum / weight : 0.0;
  };
  if (total > 0 && !prediction.is_same_hardware) {
    double communication = 0;
    for (std::size_t i = 0; i < cause_count; ++i) {
      if (is_exposed_communication(static_cast<Cause>(i))) communication += prediction.report.seconds[i];
    }
    error += weighted({OpClass::gemm}, "gemm", &ClassErrors::gemm) * seconds(Cause::gemm) / total;
    error += weighted({OpClass::attention}, "attention", &ClassErrors::attention) * seconds(Cause::attention) / total;
    error += weighted({OpClass::norm, OpClass::element_wise, OpClass::other}, "memory_bound", &ClassErrors::other) *
             seconds(Cause::other_compute) / total;
    error += weighted({OpClass::communication}, "collectives", &ClassErrors::communication) * communication / total;
  }
  prediction.relative_error = error;
  prediction.error_of = fmt::format("the unchanged replay's own {:.3g}%", 100 * run.self.error);
  if (!prediction.is_same_hardware) {
    prediction.error_of =
        "measured errors of the classes of kernels and collectives, by what each prediction rests on (docs/traces.md), "
        "and " +
        prediction.error_of;
  }
  if (is_edited) prediction.error_of += "; how exact the edits themselves are is not known";
}

}  // namespace warploom
