// SPDX-License-Identifier: Apache-2.0
// Fits by pattern search in the logarithms of the parameters: deterministic, no derivatives, a few thousand points at
// most.
#include "workloads/validation/baseline.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "workloads/validation/statistics.hpp"

namespace warploom {

namespace {

constexpr std::size_t most_fitted = 4000;  // more points of one table say the same

using Parameters = std::array<double, 3>;  // logarithms of t0, rate, bandwidth

Roofline roofline_of(const Parameters& logarithms, bool has_flops) {
  return {std::exp(logarithms[0]), has_flops ? std::exp(logarithms[1]) : 0, std::exp(logarithms[2])};
}

double error_of(const Roofline& model, std::span<const BaselinePoint> points) {
  double sum = 0;
  for (const BaselinePoint& point : points) sum += std::abs(model.predict(point.features) / point.measured_us - 1);
  return sum;
}

// Hooke and Jeeves: steps along each parameter, then once more the way that they went.
Parameters descend(Parameters at, std::span<const BaselinePoint> points, bool has_flops) {
  const auto value = [&](const Parameters& p) { return error_of(roofline_of(p, has_flops), points); };
  double best = value(at);
  for (double step = 0.5; step > 1e-4;) {
    const Parameters before = at;
    for (std::size_t i = 0; i < at.size(); ++i) {
      if (i == 1 && !has_flops) continue;
      for (const double direction : {step, -step}) {
        Parameters tried = at;
        tried[i] += direction;
        const double error = value(tried);
        if (error >= best) continue;
        best = error;
        at = tried;
        break;
      }
    }
    if (at == before) {
      step /= 2;
      continue;
    }
    Parameters further = at;
    for (std::size_t i = 0; i < at.size(); ++i) further[i] += at[i] - before[i];
    if (const double error = value(further); error < best) {
      best = error;
      at = further;
    }
  }
  return at;
}

std::vector<BaselinePoint> thinned(std::span<const BaselinePoint> points) {
  const std::size_t stride = (points.size() + most_fitted - 1) / most_fitted;
  std::vector<BaselinePoint> result;
  for (std::size_t i = 0; i < points.size(); i += std::max<std::size_t>(stride, 1)) result.push_back(points[i]);
  return result;
}

std::vector<double> rooflines(std::span<const BaselineRow> rows, bool has_flops) {
  std::map<std::size_t, std::vector<BaselinePoint>> groups;
  for (const BaselineRow& row : rows) groups[row.group].push_back(row.point);
  std::map<std::size_t, Roofline> fits;
  for (const auto& [group, points] : groups) fits[group] = fit_roofline(points, has_flops);
  std::vector<double> times;
  for (const BaselineRow& row : rows) times.push_back(fits[row.group].predict(row.point.features));
  return times;
}

std::vector<double> constant_efficiencies(std::span<const BaselineRow> rows) {
  // By group and set: the median efficiency of the group's other sets.
  std::map<std::pair<std::size_t, std::size_t>, double> efficiencies;
  std::vector<double> times;
  for (const BaselineRow& row : rows) {
    double& efficiency = efficiencies[{row.group, row.set}];
    if (efficiency == 0) {
      std::vector<double> others;
      std::vector<double> own;
      for (const BaselineRow& other : rows) {
        if (other.group != row.group || other.point.features.ideal_us <= 0) continue;
        (other.set == row.set ? own : others).push_back(other.point.features.ideal_us / other.point.measured_us);
      }
      const auto& known = others.empty() ? own : others;
      efficiency = known.empty() ? 1 : quantile(known, 0.5);
    }
    times.push_back(row.point.features.ideal_us / efficiency);
  }
  return times;
}

}  // namespace

double Roofline::predict(const BaselineFeatures& features) const {
  const double compute = flops_per_us > 0 ? features.flops / flops_per_us : 0;
  return t0_us + std::max(compute, features.bytes / bytes_per_us);
}

Roofline fit_roofline(std::span<const BaselinePoint> all, bool has_flops) {
  const auto points = thinned(all);
  std::vector<double> times;
  std::vector<double> rates;
  std::vector<double> bandwidths;
  for (const BaselinePoint& point : points) {
    times.push_back(point.measured_us);
    rates.push_back(std::max(point.features.flops, 1.0) / point.measured_us);
    bandwidths.push_back(std::max(point.features.bytes, 1.0) / point.measured_us);
  }
  if (points.empty()) return {0, 1, 1};
  Roofline best;
  double least = -1;
  // The error has more than one valley: start from several shares of the best rates seen.
  for (const double share : {0.95, 0.7}) {
    for (const double quick : {0.02, 0.3}) {
      const Parameters start = {std::log(std::max(quantile(times, quick), 1e-3)), std::log(quantile(rates, share)),
                                std::log(quantile(bandwidths, share))};
      const Roofline fit = roofline_of(descend(start, points, has_flops), has_flops);
      const double error = error_of(fit, points);
      if (least >= 0 && error >= least) continue;
      least = error;
      best = fit;
    }
  }
  return best;
}

std::vector<double> baseline_times(BaselineKind kind, std::span<const BaselineRow> rows) {
  if (kind == BaselineKind::constant_efficiency) return constant_efficiencies(rows);
  if (kind == BaselineKind::unchanged) {
    std::vector<double> times;
    for (const BaselineRow& row : rows) times.push_back(row.point.features.ideal_us);
    return times;
  }
  return rooflines(rows, kind == BaselineKind::roofline);
}

}  // namespace warploom
