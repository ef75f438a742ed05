// SPDX-License-Identifier: Apache-2.0
// A measured table beside its predictions: every row is predicted, or skipped for a reason that is listed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/csv.hpp"
#include "workloads/validation/statistics.hpp"
#include "workloads/validation/table_kind.hpp"
#include "workloads/validation/validation_context.hpp"

namespace warploom {

// `--where device=h100_sxm`: rows whose column or group key has this value. A device may be called by any alias.
struct RowFilter {
  std::string key;
  std::string value;
  // `key=value`; throws UserError.
  static RowFilter parse(const std::string& text);
};

struct ValidationOptions {
  std::vector<RowFilter> where;
  bool keeps_rows = false;  // cells and labels of every row, for --rows
  std::string anchor;  // a device: the others' rows are predicted from its own (anchored.hpp); empty: by themselves
  std::function<void(std::int64_t rows)> progress;
};

// Rows that are scored together.
struct RowGroup {
  std::string device, dtype, size_class, set;
  std::vector<Label> keys;   // phase, op, ...
  bool is_interval = false;  // settings left open: gates nothing
  ErrorSummary errors, baseline;
  std::optional<ErrorSummary> other;             // of the other model, on the rows that both predict
  std::optional<double> interval_width;          // mean of slowest / fastest - 1 over the settings that fit
  std::optional<double> leave_one_set_out_mape;  // of the calibration's records, where there is one
};

struct ValidatedRow {
  std::int64_t number = 0;  // of data rows, from 1
  std::int64_t line = 0;
  int measurement = 0;  // of the row
  std::size_t group = 0;
  double measured_us = 0;
  double predicted_us = 0;
  double baseline_us = 0;
  std::optional<double> min_us, max_us;
  std::optional<double> other_us;  // as the other model predicts it
  std::optional<std::pair<double, double>> interval_us;
  // predicted / measured - 1; with an interval the distance to it.
  double error() const;
};

struct SkippedRow {
  std::int64_t number = 0;
  std::int64_t line = 0;
  std::size_t reason = 0;  // of TableValidation::reasons
};

struct KeptRow {
  std::vector<std::string> cells;
  std::vector<Label> labels;
};

struct TableValidation {
  std::string file;
  std::string kind;
  BaselineKind baseline_kind = BaselineKind::roofline;
  std::int64_t rows = 0;  // that the filters leave
  std::vector<ValidatedRow> predicted;
  std::vector<SkippedRow> skipped;
  std::vector<std::string> reasons;
  std::vector<RowGroup> groups;    // by device, data type, keys, class
  ErrorSummary overall, baseline;  // of the rows that gate
  std::string model = "analytic";  // that predicted
  std::string other_model;         // that stands beside it; empty: none
  std::string anchor;              // the device whose measurements predictions start from; empty: none
  std::optional<ErrorSummary> other_overall;
  std::optional<double> leave_one_set_out_mape;  // over the groups that have one, weighted by rows
  std::vector<std::string> columns;
  std::vector<KeptRow> kept;  // one a row, predicted and skipped in the table's order; only with keeps_rows
};

// Throws UserError for what concerns the table as a whole, and for a filter that nothing in it can satisfy.
TableValidation validate_table(CsvReader table, ValidationContext& context, const ValidationOptions& options = {});

// Another model's predictions of the same table stand beside the table's own.
void set_beside(TableValidation& table, const TableValidation& other);

// The tables as text for a terminal.
std::string to_text(const TableValidation& table);
// file,row,line,kind,... and every table's own columns: one line a row of the tables. Needs keeps_rows.
std::string rows_as_csv(const std::vector<TableValidation>& tables);

}  // namespace warploom
