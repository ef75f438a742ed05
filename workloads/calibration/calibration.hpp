// SPDX-License-Identifier: Apache-2.0
// Fitting constants to measured tables through the product's own predictions, and scoring the fit on what it has not
// seen.
//
// A constant is known by the place that it is written in: devices that reach the same line of the same file share it
// and are fitted together. Each kind of table decides its own constants, in the order of the declarations; later kinds
// see what earlier ones have settled. Objective: the mean of c log(1 + |log(predicted / measured)| / c), c = 0.3, which
// is the relative error where it is small; twice too fast costs as much as twice too slow, and outliers decide little.
// A fit that has less of that but a greater mean error is dropped: the constants stay. So does every constant whose
// move takes no more off the error of the rows that reach it than noise would: the rows do not decide it. One that the
// error would push beyond its physical range stops the calibration; one that only comes to lie on an end of it (two
// constants that trade with each other) is held where it was, and the others are fitted again.
//
// Leave one set out: sets of sources (else devices) are left out in turn where the rest still decides all constants
// that they use; the other rows in five folds that share no fold key (weights' n and k). Each time the fit is repeated
// on the rest, from the fit of all, and the left rows are scored. Rows that no constant was fitted on are out of sample
// as they are.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/csv.hpp"
#include "workloads/calibration/constants.hpp"
#include "workloads/calibration/descent.hpp"
#include "workloads/validation/error_bands.hpp"
#include "workloads/validation/table_kind.hpp"
#include "workloads/validation/validation_context.hpp"

namespace warploom {

struct CalibrationOptions {
  std::vector<std::string> excluded;  // sets, devices or file names that no fit may see
  std::vector<std::string> kinds;     // only these; empty: all
  bool keeps_constants = false;       // only score: errors in sample and with sets left out
  bool leaves_sets_out = true;
  std::size_t most_rows = 10'000;  // of one fit; more are thinned evenly
  DescentOptions descent;
  std::function<void(const std::string& stage)> progress;
};

// Where one constant stands, and what became of it.
struct FittedConstant {
  DeclaredConstant declared;
  Origin written;                    // in its file
  std::vector<std::string> files;    // library files of the fit that reach it: `devices/h100_sxm`
  std::vector<std::string> users;    // all library files of its folder that reach it, measured or not
  std::vector<std::string> sources;  // tables or sets that decided it
  std::string before, after;         // as written
  double value = 0;
  bool is_at_bound = false;
  bool is_held = false;  // the fit ran to an end of its range, so that it was left out of it
  bool changed() const { return before != after; }
  bool counts() const { return users.size() >= 2 || sources.size() >= 2; }
};

// Constants that were fitted together.
struct FittedGroup {
  std::string kind;
  std::vector<std::string> files;
  std::vector<FittedConstant> constants;
  std::int64_t rows = 0;
  double mape_before = 0;
  double mape_after = 0;
  std::optional<double> leave_one_set_out_mape;
  std::vector<std::string> left_out;  // what was left out in turn
};

// Rows that no fit saw because the user excluded them.
struct ExcludedScore {
  std::string set;
  std::int64_t rows = 0;
  double mape = 0;
};

struct Calibration {
  std::vector<FittedGroup> groups;
  std::vector<ErrorBand> bands;
  std::vector<ExcludedScore> excluded;
  std::int64_t skipped = 0;
};

class Calibrator {
 public:
  Calibrator(ValidationContext& context, CalibrationOptions options);
  ~Calibrator();

  // All rows of a table; throws UserError for what is wrong with the table as a whole.
  void add(CsvReader table);
  // Throws UserError for a constant that the rows would push out of its physical range, and for rows that decide
  // nothing.
  Calibration run();

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace warploom
