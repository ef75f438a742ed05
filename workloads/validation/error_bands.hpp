// SPDX-License-Identifier: Apache-2.0
// How far predictions of a class have been from measurements, as the last calibration found and wrote down
// (configs/calibration/residuals.yaml).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/library.hpp"

namespace warploom {

class ValidationContext;
struct RowGroup;

struct ErrorBand {
  std::string kind;    // of table: `gemm`
  std::string device;  // canonical
  std::string dtype;
  std::string size_class;  // with the group's other keys: `prefill long`; see band_class()
  std::int64_t rows = 0;
  double mape = 0;                               // in sample
  std::optional<double> leave_one_set_out_mape;  // fitted without the row's set
  // predicted / measured at the 10th and 90th percentile: divide a prediction by them for the band of the measurement.
  double ratio_p10 = 1;
  double ratio_p90 = 1;
  bool is_borrowed = false;  // of another device or class: nothing was measured on this one
};

class ErrorBands {
 public:
  ErrorBands() = default;
  explicit ErrorBands(std::vector<ErrorBand> bands) : bands_(std::move(bands)) {}
  // Empty where the library has no records.
  static ErrorBands load(const Library& library = Library::from_environment());

  const std::vector<ErrorBand>& all() const { return bands_; }
  // Exactly this class; null where nothing was recorded.
  const ErrorBand* find(std::string_view kind, std::string_view device, std::string_view dtype,
                        std::string_view size_class) const;
  // The nearest: exactly this class, else the device's rows of the data type, of any type, else those of all devices of
  // the kind (borrowed), widest band first taken. None where the kind was never scored.
  std::optional<ErrorBand> band(std::string_view kind, std::string_view device, std::string_view dtype,
                                std::string_view size_class = {}) const;

 private:
  std::vector<ErrorBand> bands_;
};

// The records of the context's library, read once.
const ErrorBands& error_bands(ValidationContext& context);

// The class under which a group is recorded: its keys' values and its size class; without one, its set.
std::string band_class(const RowGroup& group);

}  // namespace warploom
