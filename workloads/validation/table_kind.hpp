// SPDX-License-Identifier: Apache-2.0
// A kind of measured table: the columns by which it is known, and what the simulator predicts for a row of it.
//
// One file a kind in workloads/validation/tables/, one line each in tables.cpp. tables/gemm.cpp is the example to copy.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/csv.hpp"

namespace warploom {

class ValidationContext;

// What a simple model would be told of a row. The framework fits it per device, data type and table, in sample.
enum class BaselineKind : std::uint8_t {
  roofline,             // t0 + max(work / rate, bytes / bandwidth): three parameters
  latency_bandwidth,    // t0 + bytes / bandwidth: two
  constant_efficiency,  // ideal time / efficiency: one a device family and data type, fitted on the other sets
  unchanged,            // the ideal time as it is, nothing fitted: a step takes elsewhere as long as it was captured
  peaks,                // measured on the anchor x the ratio of ideal times at both data sheets' peaks, nothing fitted
};

struct BaselineFeatures {
  double flops = 0;     // of the kernel
  double bytes = 0;     // compulsory device-memory traffic; of a collective, bytes on the wire of one device
  double ideal_us = 0;  // at the data sheet's peak: for constant_efficiency
};

using Label = std::pair<std::string, std::string>;  // phase = prefill

// A measured row beside its prediction. Microseconds throughout.
struct Predicted {
  std::string device;         // canonical name
  std::string dtype;          // as the table says it
  std::string size_class;     // `llm`, `skinny`, `tiny`, `other`; of other kinds what tells sizes apart
  std::string set;            // where the row comes from, when the table has several sources; rows of a set are kin
  std::vector<Label> group;   // further keys of its group: phase, op, ...; few distinct values
  std::vector<Label> labels;  // of the row only: what else was decided for the prediction (algorithm, ...)
  double measured_us = 0;
  std::optional<double> min_us, max_us;  // over repeated measurements
  double predicted_us = 0;
  // Where the row leaves settings open: the fastest and the slowest of those that fit. Such rows gate nothing, and
  // their error is the distance to the interval.
  std::optional<std::pair<double, double>> interval_us;
  BaselineFeatures baseline;
  // Rows with the same key never stand on both sides when a fit is scored on what it has not seen (for GEMM the
  // weights' n and k). Empty: the group's keys.
  std::string fold_key;
  // The library file whose constants decide it, as calibration finds them; empty: `devices/` and the device. A kind of
  // collectives says `libraries/nccl_hopper`, or the cluster that uses it.
  std::string tuned_by;
};

class TableKind {
 public:
  virtual ~TableKind() = default;
  virtual std::string_view name() const = 0;  // `gemm`
  virtual std::string_view meaning() const = 0;
  // A table that has all of these is of this kind; of several kinds the one with most.
  virtual std::span<const std::string_view> columns() const = 0;
  virtual std::string_view device_column() const { return "device"; }
  virtual BaselineKind baseline() const { return BaselineKind::roofline; }

  // What decides the kernel, whatever the device it ran on: rows with the same cells in these columns (those that the
  // table has) are one kernel on several devices, and `--anchored` predicts one from another. Empty: rows do not pair.
  virtual std::span<const std::string_view> shape_columns() const { return {}; }

  // Throws UserError for a row that cannot be predicted; its message() is the reason that the row is counted under, so
  // let it be the same text for the same reason. Bad cells (CsvRowError of row.number(...)), devices that nobody
  // described (ValidationContext::device) and kernels that a device cannot run (KernelFamily::check) do so by
  // themselves.
  virtual Predicted predict(const CsvRow& row, ValidationContext& context) const = 0;

  // A row may measure several things (a dispatch and a combine): each is predicted apart, predict() says the first.
  virtual int measurements() const { return 1; }
  virtual Predicted predict_one(const CsvRow& row, int /*measurement*/, ValidationContext& context) const {
    return predict(row, context);
  }
};

// Throws UserError for what is no time of a kernel or a step: below 0.1 ns, beyond a month.
void require_plausible(double measured_us);

// All kinds, in the order of tables.cpp.
std::span<const TableKind* const> table_kinds();

// The kind of a table with these columns; throws UserError that says what it lacks of the nearest one.
const TableKind& table_kind_of(const CsvReader& table);

}  // namespace warploom
