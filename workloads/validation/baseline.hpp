// SPDX-License-Identifier: Apache-2.0
// The simple models that a prediction must beat, fitted to the same rows so that they are as good as they can be.
//
// Roofline:            t = t0 + max(flops / rate, bytes / bandwidth), three parameters.
// Latency + bandwidth: t = t0 + bytes / bandwidth, two.
// Both minimise the mean absolute relative error, in sample: what they are scored by.
// Constant efficiency: t = ideal / efficiency, the median efficiency of all rows of the other sets.
// Unchanged:           t = ideal.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "workloads/validation/table_kind.hpp"

namespace warploom {

struct BaselinePoint {
  BaselineFeatures features;
  double measured_us = 0;
};

struct Roofline {
  double t0_us = 0;
  double flops_per_us = 0;  // 0: nothing computes
  double bytes_per_us = 0;
  double predict(const BaselineFeatures& features) const;
};

// `has_flops` false: latency + bandwidth.
Roofline fit_roofline(std::span<const BaselinePoint> points, bool has_flops = true);

// The baseline's time of every point; `group` says which points are fitted together (device and data type), `set` which
// are left out together where the kind asks for it. A set that has nothing else to learn from gets its own efficiency.
struct BaselineRow {
  BaselinePoint point;
  std::size_t group = 0;
  std::size_t set = 0;
};
std::vector<double> baseline_times(BaselineKind kind, std::span<const BaselineRow> rows);

}  // namespace warploom
