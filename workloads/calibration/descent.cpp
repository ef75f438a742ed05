// SPDX-License-Identifier: Apache-2.0
// One coordinate after the other, then the way that a round went.
#include "workloads/calibration/descent.hpp"

#include <algorithm>
#include <cmath>

#include "sim/core/errors.hpp"

namespace warploom {

namespace {

class Descent {
 public:
  Descent(std::span<const DescentRange> ranges, std::vector<double> start,
          const std::function<double(const std::vector<double>&)>& objective, const DescentOptions& options)
      : ranges_(ranges), at_(std::move(start)), objective_(objective), options_(options) {
    steps_.assign(ranges.size(), options.first_step);
    directions_.assign(ranges.size(), 1);
    best_ = evaluate(at_);
  }

  std::vector<double> run() {
    int idle = 0;
    for (int round = 0; round < options_.rounds && idle < 2; ++round) {
      const std::vector<double> before = at_;
      const double best_before = best_;
      for (std::size_t i = 0; i < ranges_.size(); ++i) improve(i);
      if (at_ != before) go_on_from(before);
      // A round without any gain only shortened its steps.
      const double gain = best_before - best_;
      if (gain > 0) idle = gain < options_.least_gain * best_before ? idle + 1 : 0;
      if (are_steps_small()) break;
    }
    return at_;
  }

 private:
  double evaluate(const std::vector<double>& values) {
    if (options_.progress) options_.progress();
    return objective_(values);
  }

  bool take(const std::vector<double>& tried) {
    if (tried == at_) return false;
    const double value = evaluate(tried);
    if (!(value < best_)) return false;
    best_ = value;
    at_ = tried;
    return true;
  }

  // The coordinate moved by its step in a direction, kept in its range.
  std::vector<double> moved(std::size_t i, double direction) const {
    std::vector<double> tried = at_;
    const DescentRange& range = ranges_[i];
    if (!range.choices.empty()) {
      const auto here = std::min_element(range.choices.begin(), range.choices.end(), [&](double a, double b) {
        return std::abs(a - at_[i]) < std::abs(b - at_[i]);
      });
      const auto next = (here - range.choices.begin()) + (direction > 0 ? 1 : -1);
      if (next >= 0 && next < static_cast<std::ptrdiff_t>(range.choices.size()))
        tried[i] = range.choices[static_cast<std::size_t>(next)];
      return tried;
    }
    tried[i] = std::clamp(at_[i] + direction * steps_[i] * (range.high - range.low), range.low, range.high);
    return tried;
  }

  void improve(std::size_t i) {
    if (!ranges_[i].choices.empty() && steps_[i] < options_.first_step / 8) return;  // settled
    for (const int sign : {1, -1}) {
      if (!take(moved(i, sign * directions_[i]))) continue;
      directions_[i] *= sign;
      // As far as it helps, in growing steps.
      for (int more = 0; more < 4; ++more) {
        steps_[i] = std::min(steps_[i] * 1.6, 0.3);
        if (!take(moved(i, directions_[i]))) break;
      }
      steps_[i] /= 2;
      return;
    }
    steps_[i] /= 2.5;
  }

  void go_on_from(const std::vector<double>& before) {
    std::vector<double> further = at_;
    for (std::size_t i = 0; i < further.size(); ++i) {
      if (ranges_[i].choices.empty()) further[i] = std::clamp(2 * at_[i] - before[i], ranges_[i].low, ranges_[i].high);
    }
    take(further);
  }

  bool are_steps_small() const {
    return std::all_of(steps_.begin(), steps_.end(), [&](double step) { return step < options_.last_step; });
  }

  std::span<const DescentRange> ranges_;
  std::vector<double> at_;
  const std::function<double(const std::vector<double>&)>& objective_;
  const DescentOptions& options_;
  std::vector<double> steps_;
  std::vector<int> directions_;
  double best_ = 0;
};

}  // namespace

std::vector<double> descend(std::span<const DescentRange> ranges, std::vector<double> start,
                            const std::function<double(const std::vector<double>&)>& objective,
                            const DescentOptions& options) {
  WARPLOOM_CHECK(ranges.size() == start.size());
  return Descent(ranges, std::move(start), objective, options).run();
}

}  // namespace warploom
