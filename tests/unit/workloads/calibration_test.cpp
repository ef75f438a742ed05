// SPDX-License-Identifier: Apache-2.0
// Calibration recovers planted constants, keeps to physical ranges, and leaves the rest of its files alone.
#include "workloads/calibration/calibration.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "sim/core/whole_file.hpp"
#include "workloads/calibration/calibration_text.hpp"
#include "workloads/calibration/write_back.hpp"
#include "workloads/validation/validation.hpp"

namespace warploom {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Descent, FindsTheMinimumOfACurvedValley) {
  const std::vector<DescentRange> ranges = {{-2, 2, {}}, {-1, 3, {}}};
  const auto rosenbrock = [](const std::vector<double>& x) {
    return std::pow(1 - x[0], 2) + 10 * std::pow(x[1] - x[0] * x[0], 2);
  };
  DescentOptions options;
  options.rounds = 500;
  options.least_gain = 1e-6;
  options.last_step = 1e-6;
  const auto found = descend(ranges, {-1, 2}, rosenbrock, options);
  EXPECT_NEAR(found[0], 1, 0.1);
  EXPECT_NEAR(found[1], 1, 0.2);
}

TEST(Descent, StaysInItsRangeAndTakesOnlyChoices) {
  const std::vector<DescentRange> ranges = {{0, 1, {}}, {512, 4096, {512, 1024, 2048, 4096}}};
  const auto objective = [](const std::vector<double>& x) {
    EXPECT_LE(x[0], 1);
    EXPECT_TRUE(x[1] == 512 || x[1] == 1024 || x[1] == 2048 || x[1] == 4096);
    return std::abs(x[0] - 5) + std::abs(x[1] - 2000) / 1000;
  };
  const auto found = descend(ranges, {0.5, 512}, objective);
  EXPECT_DOUBLE_EQ(found[0], 1);
  EXPECT_DOUBLE_EQ(found[1], 2048);
}

TEST(Descent, IsTheSameEachTime) {
  const std::vector<DescentRange> ranges = {{0, 1, {}}, {0, 1, {}}};
  const auto objective = [](const std::vector<double>& x) { return std::abs(x[0] - 0.3) + std::abs(x[1] - x[0]); };
  EXPECT_EQ(descend(ranges, {0.9, 0.1}, objective), descend(ranges, {0.9, 0.1}, objective));
}

TEST(WriteBack, OnlyTheScalarAndTheTagOfItsCommentChange) {
  const std::string text =
      "# head\ngemm:\n  main_loop: 0.93             # [fit] share of the rate\n  prologue: 700 cycles\n"
      "flop: {bf16: 1.07 pJ, fp16: 1.07 pJ}    # by the clock\n";
  const auto replaced = [&](int line, int column, const std::string& before, const std::string& after) {
    return with_scalar_replaced(text, Origin("f.yaml", line, column), before, after, "2026-11-29 gemm.csv");
  };
  EXPECT_THAT(replaced(3, 14, "0.93", "0.9"),
              HasSubstr("  main_loop: 0.9             # [fit 2026-11-29 gemm.csv] share of the rate\n"));
  EXPECT_THAT(replaced(4, 13, "700 cycles", "650 cycles"),
              HasSubstr("  prologue: 650 cycles  # [fit 2026-11-29 gemm.csv]\n"));
  EXPECT_THAT(replaced(5, 29, "1.07 pJ", "1 pJ"),
              HasSubstr("flop: {bf16: 1.07 pJ, fp16: 1 pJ}    # [fit 2026-11-29 gemm.csv] by the clock\n"));
  EXPECT_THROW(replaced(4, 13, "800 cycles", "650 cycles"), UserError);
  EXPECT_THROW(replaced(40, 1, "x", "y"), UserError);
}

TEST(WriteBack, ATagThatIsThereIsReplaced) {
  const std::string text = "a: 1   # [fit 2026-01-01 old.csv] meaning\n";
  EXPECT_EQ(with_scalar_replaced(text, Origin("f", 1, 4), "1", "2", "2026-11-29 new.csv"),
            "a: 2   # [fit 2026-11-29 new.csv] meaning\n");
}

// A library of its own: devices, architectures and one declaration, so that a fit can be written back.
class CalibrationOfALibrary : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::copy(WARPLOOM_SOURCE_DIR "/configs", folder_, fs::copy_options::recursive);
    write_whole_file((folder_ / "calibration/constants.yaml").string(),
                     "constants:\n"
                     "  - {kind: gemm, path: architecture.gemm.main_loop, low: 0.6, high: 1}\n"
                     "  - {kind: gemm, path: architecture.gemm.fixed, low: 0.05 us, high: 4 us}\n");
  }
  void TearDown() override { fs::remove_all(folder_); }

  Library library() const { return Library({folder_.string()}); }

  static std::string shapes(const std::string& device, double scale = 1) {
    std::string rows;
    for (const int m : {1, 64, 512, 2048, 8192}) {
      for (const int n : {1024, 4096, 8192}) {
        for (const int k : {1024, 8192}) rows += fmt::format("{},bf16,{},{},{},{}\n", device, m, n, k, scale);
      }
    }
    return rows;
  }

  // What the library would predict with these overrides, as a measured table.
  CsvReader planted(const std::vector<std::string>& overrides, const std::string& device = "h100_sxm",
                    double scale = 1) {
    ValidationContext context(library());
    context.set_overrides("devices", overrides);
    CsvReader shapes_only = CsvReader::from_text("device,dtype,m,n,k,latency_us\n" + shapes(device), "shapes.csv");
    const TableKind& kind = table_kind_of(shapes_only);
    std::string text = "device,dtype,m,n,k,latency_us\n";
    CsvRow row;
    while (shapes_only.next(row)) {
      text += fmt::format("{},bf16,{},{},{},{}\n", device, row.text("m"), row.text("n"), row.text("k"),
                          scale * kind.predict(row, context).predicted_us);
    }
    return CsvReader::from_text(text, "planted.csv");
  }

  fs::path folder_;
};

const FittedConstant& constant(const Calibration& calibration, const std::string& path) {
  for (const FittedGroup& group : calibration.groups) {
    for (const FittedConstant& one : group.constants) {
      if (one.declared.path == path) return one;
    }
  }
  throw std::logic_error("no constant " + path);
}

TEST_F(CalibrationOfALibrary, RecoversPlantedConstants) {
  ValidationContext context(library());
  Calibrator calibrator(context, {});
  calibrator.add(planted({"architecture.gemm.main_loop=0.8", "architecture.gemm.fixed=2 us"}));
  const Calibration calibration = calibrator.run();
  EXPECT_NEAR(constant(calibration, "architecture.gemm.main_loop").value, 0.8, 0.01);
  EXPECT_NEAR(constant(calibration, "architecture.gemm.fixed").value, 2, 0.05);
  EXPECT_LT(calibration.groups[0].mape_after, 0.005);
  EXPECT_GT(calibration.groups[0].mape_before, 0.05);
  EXPECT_LT(*calibration.groups[0].leave_one_set_out_mape, 0.02);  // the model is the truth here
}

// Half of the rows a tenth slower than predicted, half five times faster: an outlier's cost is what the objective
// spares.
TEST_F(CalibrationOfALibrary, AFitThatWouldRaiseTheMeanErrorIsDropped) {
  ValidationContext context(library());
  Calibrator calibrator(context, {});
  calibrator.add(planted({}, "h100_sxm", 1.1));
  calibrator.add(planted({}, "h100_sxm", 0.2));
  const Calibration calibration = calibrator.run();
  EXPECT_EQ(calibration.groups[0].mape_after, calibration.groups[0].mape_before);
  EXPECT_FALSE(constant(calibration, "architecture.gemm.main_loop").changed());
  EXPECT_FALSE(constant(calibration, "architecture.gemm.fixed").changed());
}

// BF16 products of the vendor's library never take a serving engine's loop.
TEST_F(CalibrationOfALibrary, ConstantsThatTheRowsDoNotDecideStayAndAreNotWritten) {
  write_whole_file((folder_ / "calibration/constants.yaml").string(),
                   "constants:\n"
                   "  - {kind: gemm, path: architecture.gemm.main_loop, low: 0.6, high: 1}\n"
                   "  - {kind: gemm, path: architecture.gemm.serving_main_loop, low: 0.1, high: 1}\n");
  ValidationContext context(library());
  CalibrationOptions options;
  options.leaves_sets_out = false;
  Calibrator calibrator(context, options);
  calibrator.add(planted({"architecture.gemm.main_loop=0.8"}));
  const Calibration calibration = calibrator.run();
  EXPECT_TRUE(constant(calibration, "architecture.gemm.main_loop").changed());
  EXPECT_FALSE(constant(calibration, "architecture.gemm.serving_main_loop").changed());
  const std::string own = override_text(calibration, "devices/h100_sxm", "devices/h100_sxm", "2026-11-29");
  EXPECT_THAT(own, HasSubstr("    main_loop: "));
  EXPECT_THAT(own, Not(HasSubstr("serving_main_loop")));
  EXPECT_THAT(to_text(calibration), HasSubstr("2 constants fitted, 1 of which moved"));
}

TEST_F(CalibrationOfALibrary, NothingMovesWhereTheLibraryIsRight) {
  ValidationContext context(library());
  CalibrationOptions options;
  options.leaves_sets_out = false;
  Calibrator calibrator(context, options);
  calibrator.add(planted({}));
  const Calibration calibration = calibrator.run();
  for (const FittedConstant& one : calibration.groups[0].constants) EXPECT_FALSE(one.changed()) << one.declared.path;
  EXPECT_TRUE(edited_files(calibration, "2026-11-29").empty());
}

TEST_F(CalibrationOfALibrary, WarnsOfFewerRowsThanConstants) {
  ValidationContext context(library());
  CalibrationOptions options;
  options.leaves_sets_out = false;
  Calibrator calibrator(context, options);
  calibrator.add(CsvReader::from_text("device,dtype,m,n,k,latency_us\nh100_sxm,bf16,4096,4096,4096,200\n", "one.csv"));
  EXPECT_THAT(to_text(calibrator.run()), HasSubstr("warning: 1 row for 2 constants"));
}

TEST_F(CalibrationOfALibrary, ADeviceFileOfOnesOwnIsScoredUnderItsOwnName) {
  const std::string own = (folder_ / "my_h100.yaml").string();
  write_whole_file(own, "use: devices/h100_sxm\n");
  ValidationContext context(library());
  context.use_device_file(own);
  const auto table = validate_table(planted({}), context);
  ASSERT_FALSE(table.groups.empty());
  for (const RowGroup& group : table.groups) {
    EXPECT_EQ(group.device, "my_h100.yaml");
    EXPECT_FALSE(group.leave_one_set_out_mape.has_value());
  }
}

TEST_F(CalibrationOfALibrary, RefusesToLeaveThePhysicalRangeAndSaysSo) {
  ValidationContext context(library());
  Calibrator calibrator(context, {});
  calibrator.add(planted({}, "h100_sxm", 0.2));
  try {
    calibrator.run();
    FAIL() << "expected UserError";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("would leave its physical range"));
    EXPECT_THAT(error.what(), HasSubstr("architectures/hopper.yaml"));
    EXPECT_THAT(error.hint(), HasSubstr("nothing was written"));
  }
}

TEST_F(CalibrationOfALibrary, AnExcludedDeviceIsNotFittedButScored) {
  ValidationContext context(library());
  CalibrationOptions options;
  options.excluded = {"H100"};  // an alias
  options.leaves_sets_out = false;
  Calibrator calibrator(context, options);
  calibrator.add(planted({"architecture.gemm.main_loop=0.8"}, "h100_sxm"));
  calibrator.add(planted({"architecture.gemm.main_loop=0.8"}, "a100_sxm"));
  const Calibration calibration = calibrator.run();
  ASSERT_EQ(calibration.groups.size(), 1U);
  EXPECT_EQ(calibration.groups[0].files, std::vector<std::string>{"devices/a100_sxm"});
  ASSERT_EQ(calibration.excluded.size(), 1U);
  EXPECT_EQ(calibration.excluded[0].rows, 30);
}

TEST_F(CalibrationOfALibrary, ADeviceOfTheSameArchitectureSharesItsConstants) {
  write_whole_file((folder_ / "devices/twin.yaml").string(), "use: devices/h100_sxm\nsm: {count: 100}\n");
  ValidationContext context(library());
  CalibrationOptions options;
  options.leaves_sets_out = false;
  Calibrator calibrator(context, options);
  calibrator.add(planted({"architecture.gemm.main_loop=0.8"}, "h100_sxm"));
  calibrator.add(planted({"architecture.gemm.main_loop=0.8"}, "twin"));
  const Calibration calibration = calibrator.run();
  ASSERT_EQ(calibration.groups.size(), 1U);
  EXPECT_EQ(calibration.groups[0].rows, 60);
  EXPECT_TRUE(constant(calibration, "architecture.gemm.main_loop").counts());
}

TEST_F(CalibrationOfALibrary, FilesKeepTheirCommentsAndReadBackAsFitted) {
  ValidationContext context(library());
  CalibrationOptions options;
  options.leaves_sets_out = false;
  Calibrator calibrator(context, options);
  calibrator.add(planted({"architecture.gemm.main_loop=0.8", "architecture.gemm.fixed=2 us"}));
  const Calibration calibration = calibrator.run();
  const auto files = edited_files(calibration, "2026-11-29");
  ASSERT_EQ(files.size(), 1U);
  const std::string before = read_whole_file(files[0].first);
  const auto lines = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
  EXPECT_EQ(lines(files[0].second), lines(before));
  EXPECT_THAT(files[0].second, HasSubstr("[fit 2026-11-29 planted.csv]"));
  EXPECT_EQ(read_whole_file(files[0].first), before);  // texts only
  write_whole_files(files);
  ValidationContext fitted(library());
  ValidationOptions all;
  const auto again =
      validate_table(planted({"architecture.gemm.main_loop=0.8", "architecture.gemm.fixed=2 us"}), fitted, all);
  EXPECT_LT(*again.overall.mape, 0.005);
}

TEST_F(CalibrationOfALibrary, AFileOfOnesOwnStartsFromTheOriginal) {
  ValidationContext context(library());
  CalibrationOptions options;
  options.leaves_sets_out = false;
  Calibrator calibrator(context, options);
  calibrator.add(planted({"architecture.gemm.main_loop=0.8"}));
  const std::string text = override_text(calibrator.run(), "devices/h100_sxm", "devices/h100_sxm", "2026-11-29");
  const ConfigValue own = parse_config_text(text, "own.yaml", {}, library());
  const auto main_loop = own.find("architecture")->find("gemm")->find("main_loop");
  EXPECT_NEAR(std::stod(main_loop->text()), 0.8, 0.01);
  EXPECT_EQ(own.find("sm")->find("count")->text(), "132");
  EXPECT_THAT(text, HasSubstr("[fit 2026-11-29 planted.csv] was "));
}

TEST_F(CalibrationOfALibrary, ErrorBandsAreWrittenAndFoundAgain) {
  ErrorBand band;
  band.kind = "gemm";
  band.device = "h100_sxm";
  band.dtype = "bf16";
  band.size_class = "llm";
  band.rows = 12;
  band.mape = 0.05;
  band.leave_one_set_out_mape = 0.06;
  band.ratio_p10 = 0.93;
  band.ratio_p90 = 1.08;
  write_whole_file((folder_ / "calibration/residuals.yaml").string(), residuals_text({band}, {}, "2026-11-29"));
  const ErrorBands bands = ErrorBands::load_with_devices(library());
  const ErrorBand* found = bands.find("gemm", "h100_sxm", "bf16", "llm");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->rows, 12);
  EXPECT_EQ(found->leave_one_set_out_mape, 0.06);
  EXPECT_EQ(found->ratio_p90, 1.08);
  const auto sibling = bands.band("gemm", {"h200_sxm", "Hopper", 4.8e12}, "bf16", "llm");
  ASSERT_TRUE(sibling.has_value());
  EXPECT_TRUE(sibling->is_borrowed);
  EXPECT_FALSE(bands.band("moe", {"h100_sxm", "Hopper", 3.35e12}, "bf16", "llm").has_value());
}

TEST_F(CalibrationOfALibrary, RecordsOfOtherDevicesStay) {
  ErrorBand h100;
  h100.kind = "gemm";
  h100.device = "h100_sxm";
  ErrorBand a100 = h100;
  a100.device = "a100_sxm";
  const std::string text = residuals_text({h100}, {h100, a100}, "2026-11-29");
  EXPECT_THAT(text, HasSubstr("device: \"a100_sxm\""));
  EXPECT_EQ(text.find("h100_sxm"), text.rfind("h100_sxm"));
}

}  // namespace
}  // namespace warploom
