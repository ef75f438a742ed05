// SPDX-License-Identifier: Apache-2.0
// Errors of predictions against measurements, as validation prints them.
//
// error = predicted / measured - 1; APE its magnitude; bias the geometric mean of predicted / measured, minus 1, in
// which twice too slow and twice too fast cancel. Quantiles interpolate linearly between order statistics.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace warploom {

// Shares of 1, not percent; none where there is no row.
struct ErrorSummary {
  std::int64_t rows = 0;
  std::optional<double> mape, median_ape, p90_ape, bias;
  std::optional<double> inside_band;  // share inside the measurements' own range; none where no row has one
};

class ErrorCollector {
 public:
  void add(double predicted, double measured, std::optional<double> low = {}, std::optional<double> high = {});
  ErrorSummary summary() const;

 private:
  std::vector<double> magnitudes_;
  double sum_of_logs_ = 0;
  std::int64_t banded_ = 0;
  std::int64_t inside_ = 0;
};

// `share` from 0 to 1; `values` need not be sorted and must not be empty.
double quantile(std::span<const double> values, double share);

}  // namespace warploom
