// SPDX-License-Identifier: Apache-2.0
// Kernels of one device predicted from the same kernels measured on another.
#include "workloads/validation/anchored.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/core/errors.hpp"

namespace warploom {
namespace {

using ::testing::HasSubstr;

constexpr const char* head = "device,dtype,m,n,k,latency_us\n";

ValidationContext context_of_library() { return ValidationContext(Library({WARPLOOM_SOURCE_DIR "/configs"})); }

TableValidation validate(const std::string& rows, const std::string& anchor, std::vector<RowFilter> where = {}) {
  ValidationContext context = context_of_library();
  ValidationOptions options;
  options.anchor = anchor;
  options.where = std::move(where);
  options.keeps_rows = true;
  return validate_table(CsvReader::from_text(head + rows, "gemm.csv"), context, options);
}

// What the model predicts of a row, and its roofline at the data sheet.
struct Known {
  double predicted_us = 0;
  double ideal_us = 0;
};

Known known(const std::string& device, const std::string& shape) {
  ValidationContext context = context_of_library();
  const TableValidation table =
      validate_table(CsvReader::from_text(fmt::format("{}{},{},100\n", head, device, shape), "one.csv"), context);
  Predicted one;
  one.device = device;
  one.dtype = "bf16";
  one.baseline.flops = 2.0 * 4096 * 4096 * 4096;
  return {table.predicted.at(0).predicted_us, ideal_us(one, context)};
}

constexpr const char* square = "bf16,4096,4096,4096";

TEST(Anchored, IsMeasuredThereTimesPredictedHereOverPredictedThere) {
  const TableValidation table = validate(fmt::format("h100_sxm,{},300\na100_sxm,{},700\n", square, square), "h100_sxm");
  ASSERT_EQ(table.predicted.size(), 1U);
  const Known there = known("h100_sxm", square);
  const Known here = known("a100_sxm", square);
  EXPECT_NEAR(table.predicted[0].predicted_us, 300 * here.predicted_us / there.predicted_us, 1e-6);
  EXPECT_NEAR(table.predicted[0].measured_us, 700, 1e-9);
  EXPECT_NEAR(table.predicted[0].other_us.value(), here.predicted_us, 1e-9);
  // At both data sheets' peaks: 989 over 312 TFLOP/s.
  EXPECT_NEAR(table.predicted[0].baseline_us, 300 * here.ideal_us / there.ideal_us, 1e-6);
  EXPECT_NEAR(here.ideal_us / there.ideal_us, 132 * 1.83 * 4096 / (108 * 1.41 * 2048), 1e-9);
  EXPECT_EQ(table.anchor, "h100_sxm");
  EXPECT_EQ(table.baseline_kind, BaselineKind::peaks);
}

TEST(Anchored, SeveralMeasurementsOfTheAnchorCountByTheirMedian) {
  const TableValidation table = validate(
      fmt::format("h100_sxm,{0},100\nh100_sxm,{0},300\nh100_sxm,{0},9000\na100_sxm,{0},700\n", square), "h100_sxm");
  const double ratio = known("a100_sxm", square).predicted_us / known("h100_sxm", square).predicted_us;
  EXPECT_NEAR(table.predicted.at(0).predicted_us, 300 * ratio, 1e-6);
}

TEST(Anchored, RowsOfTheAnchorAndThoseWithoutAPartnerAreSaidToBeLeftOut) {
  const TableValidation table =
      validate(fmt::format("h100_sxm,{},300\na100_sxm,{},700\na100_sxm,bf16,64,64,64,3\n", square, square), "H100");
  EXPECT_EQ(table.predicted.size(), 1U);
  ASSERT_EQ(table.skipped.size(), 2U);
  EXPECT_THAT(table.reasons[table.skipped[0].reason], HasSubstr("measured on h100_sxm, the anchor"));
  EXPECT_THAT(table.reasons[table.skipped[1].reason], HasSubstr("has no row of its shape"));
  // Every row stands in the list of rows, once.
  const std::string rows = rows_as_csv({table});
  EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 4);
}

TEST(Anchored, AFilterOnDevicesKeepsTheAnchorsRows) {
  const std::string rows = fmt::format("h100_sxm,{0},300\na100_sxm,{0},700\nl40s,{0},900\n", square);
  const TableValidation table = validate(rows, "h100_sxm", {{"device", "l40s"}});
  ASSERT_EQ(table.predicted.size(), 1U);
  EXPECT_EQ(table.groups[table.predicted[0].group].device, "l40s");
}

std::string error_of(const std::string& text, const std::string& anchor) {
  ValidationContext context = context_of_library();
  ValidationOptions options;
  options.anchor = anchor;
  try {
    validate_table(CsvReader::from_text(text, "table.csv"), context, options);
  } catch (const UserError& error) {
    return error.message() + "; " + error.hint();
  }
  return "none";
}

TEST(Anchored, SaysWhatCannotBeAnAnchor) {
  const std::string one = fmt::format("{}a100_sxm,{},700\n", head, square);
  EXPECT_THAT(error_of(one, "abacus"), HasSubstr("no file describes the device `abacus`"));
  EXPECT_THAT(error_of(one, "h100_sxm"), HasSubstr("no predicted row of table.csv was measured on it"));
  EXPECT_THAT(error_of("model,p,m,TF_ms,Tcomm_ms,schedule,bubble_published\nx,2,4,1,0,1F1B,0.1\n", "h100_sxm"),
              HasSubstr("rows of a table of pipeline_bubbles do not pair"));
}

TEST(Anchored, EveryKindThatPairsNamesColumnsThatItsTablesHave) {
  for (const TableKind* kind : table_kinds()) {
    for (const std::string_view column : kind->shape_columns()) {
      EXPECT_NE(column, kind->device_column()) << kind->name();
      EXPECT_NE(column, "latency_us") << kind->name();
    }
  }
}

}  // namespace
}  // namespace warploom
