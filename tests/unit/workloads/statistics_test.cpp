// SPDX-License-Identifier: Apache-2.0
// Errors and baselines against answers known by hand.
#include "workloads/validation/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "workloads/validation/baseline.hpp"

namespace warploom {
namespace {

TEST(ErrorSummary, TheErrorIsPredictedOverMeasuredMinusOne) {
  ErrorCollector errors;
  errors.add(110, 100);
  errors.add(80, 100);
  errors.add(103, 100);
  const ErrorSummary summary = errors.summary();
  EXPECT_EQ(summary.rows, 3);
  EXPECT_NEAR(*summary.mape, (0.10 + 0.20 + 0.03) / 3, 1e-12);
  EXPECT_NEAR(*summary.median_ape, 0.10, 1e-12);
  EXPECT_NEAR(*summary.p90_ape, 0.10 + 0.8 * (0.20 - 0.10), 1e-12);  // order statistic 1.8 of 0, 1, 2
  EXPECT_NEAR(*summary.bias, std::cbrt(1.10 * 0.80 * 1.03) - 1, 1e-12);
  EXPECT_FALSE(summary.inside_band.has_value());
}

TEST(ErrorSummary, TwiceTooSlowAndTwiceTooFastAreNoBias) {
  ErrorCollector errors;
  errors.add(200, 100);
  errors.add(50, 100);
  EXPECT_NEAR(*errors.summary().bias, 0, 1e-12);
}

TEST(ErrorSummary, RowsWithoutABandDoNotCountForTheShareInside) {
  ErrorCollector errors;
  errors.add(100, 100, 95, 105);
  errors.add(120, 100, 95, 105);
  errors.add(500, 100);
  EXPECT_DOUBLE_EQ(*errors.summary().inside_band, 0.5);
}

TEST(ErrorSummary, NothingIsKnownWithoutRows) {
  const ErrorSummary summary = ErrorCollector().summary();
  EXPECT_EQ(summary.rows, 0);
  EXPECT_FALSE(summary.mape || summary.median_ape || summary.p90_ape || summary.bias || summary.inside_band);
}

TEST(Quantile, InterpolatesBetweenNeighbours) {
  const std::vector<double> values = {4, 1, 3, 2};
  EXPECT_DOUBLE_EQ(quantile(values, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(values, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile(values, 0.9), 3.7);
  EXPECT_DOUBLE_EQ(quantile(values, 1), 4);
}

// Shapes from launch-bound to compute-bound and memory-bound.
std::vector<BaselineFeatures> shapes() {
  std::vector<BaselineFeatures> result;
  for (double flops = 1e6; flops < 1e14; flops *= 7) {
    for (double bytes = 1e4; bytes < 1e10; bytes *= 9) result.push_back({flops, bytes, 0});
  }
  return result;
}

TEST(Baseline, ARooflineFindsThePlantedParameters) {
  const Roofline planted{3.5, 600e6, 2.4e6};  // us, FLOP/us, B/us: 600 TFLOP/s, 2.4 TB/s
  std::vector<BaselinePoint> points;
  for (const BaselineFeatures& shape : shapes()) points.push_back({shape, planted.predict(shape)});
  const Roofline fit = fit_roofline(points);
  EXPECT_NEAR(fit.t0_us / planted.t0_us, 1, 0.01);
  EXPECT_NEAR(fit.flops_per_us / planted.flops_per_us, 1, 0.01);
  EXPECT_NEAR(fit.bytes_per_us / planted.bytes_per_us, 1, 0.01);
}

TEST(Baseline, LatencyAndBandwidthIgnoreWork) {
  const Roofline planted{12, 0, 0.3e6};
  std::vector<BaselinePoint> points;
  for (const BaselineFeatures& shape : shapes()) points.push_back({shape, 12 + shape.bytes / 0.3e6});
  const Roofline fit = fit_roofline(points, false);
  EXPECT_NEAR(fit.t0_us / planted.t0_us, 1, 0.01);
  EXPECT_NEAR(fit.bytes_per_us / planted.bytes_per_us, 1, 0.01);
  EXPECT_EQ(fit.flops_per_us, 0);
}

TEST(Baseline, EachGroupIsFittedByItself) {
  std::vector<BaselineRow> rows;
  for (const BaselineFeatures& shape : shapes()) {
    rows.push_back({{shape, Roofline{2, 100e6, 1e6}.predict(shape)}, 0, 0});
    rows.push_back({{shape, Roofline{9, 900e6, 5e6}.predict(shape)}, 1, 0});
  }
  const auto times = baseline_times(BaselineKind::roofline, rows);
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_NEAR(times[i] / rows[i].point.measured_us, 1, 0.03);
}

TEST(Baseline, AConstantEfficiencyIsThatOfTheOtherSets) {
  const auto row = [](double efficiency, std::size_t set) {
    return BaselineRow{{{0, 0, 100}, 100 / efficiency}, 0, set};
  };
  const std::vector<BaselineRow> rows = {row(0.5, 0), row(0.5, 0), row(0.4, 1), row(0.3, 2)};
  const auto times = baseline_times(BaselineKind::constant_efficiency, rows);
  EXPECT_NEAR(times[0], 100 / 0.35, 1e-9);  // median of 0.4 and 0.3
  EXPECT_NEAR(times[2], 100 / 0.5, 1e-9);   // median of 0.5, 0.5 and 0.3
  EXPECT_NEAR(times[3], 100 / 0.5, 1e-9);
}

TEST(Baseline, ASetAloneHasItsOwnEfficiency) {
  const std::vector<BaselineRow> rows = {{{{0, 0, 100}, 250}, 0, 0}};
  EXPECT_NEAR(baseline_times(BaselineKind::constant_efficiency, rows)[0], 250, 1e-9);
}

}  // namespace
}  // namespace warploom
