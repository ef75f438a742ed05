// SPDX-License-Identifier: Apache-2.0
// Sums and order statistics of errors.
#include "workloads/validation/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/core/errors.hpp"

namespace warploom {

void ErrorCollector::add(double predicted, double measured, std::optional<double> low, std::optional<double> high) {
  magnitudes_.push_back(std::abs(predicted / measured - 1));
  sum_of_logs_ += std::log(predicted / measured);
  if (low && high) {
    ++banded_;
    if (predicted >= *low && predicted <= *high) ++inside_;
  }
}

ErrorSummary ErrorCollector::summary() const {
  ErrorSummary summary;
  summary.rows = static_cast<std::int64_t>(magnitudes_.size());
  if (magnitudes_.empty()) return summary;
  const auto count = static_cast<double>(magnitudes_.size());
  summary.mape = std::accumulate(magnitudes_.begin(), magnitudes_.end(), 0.0) / count;
  summary.median_ape = quantile(magnitudes_, 0.5);
  summary.p90_ape = quantile(magnitudes_, 0.9);
  summary.bias = std::exp(sum_of_logs_ / count) - 1;
  if (banded_ > 0) summary.inside_band = static_cast<double>(inside_) / static_cast<double>(banded_);
  return summary;
}

double quantile(std::span<const double> values, double share) {
  WARPLOOM_CHECK(!values.empty() && share >= 0 && share <= 1);
  std::vector<double> sorted(values.begin(), values.end());
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const auto at = sorted.begin() + static_cast<std::ptrdiff_t>(below);
  std::nth_element(sorted.begin(), at, sorted.end());
  const double low = *at;
  if (below + 1 == sorted.size()) return low;
  const double high = *std::min_element(at + 1, sorted.end());
  return low + (high - low) * (place - static_cast<double>(below));
}

}  // namespace warploom
