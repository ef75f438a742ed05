// SPDX-License-Identifier: Apache-2.0
// Reads a table row by row; groups, baselines and summaries follow from what was kept of each row.
#include "workloads/validation/validation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <unordered_map>

#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"
#include "workloads/validation/anchored.hpp"
#include "workloads/validation/baseline.hpp"
#include "workloads/validation/error_bands.hpp"

namespace warploom {

namespace {

constexpr std::size_t most_suggested = 12;

// The filters of one table: on a cell before a row is predicted, on a group's key afterwards.
class Filters {
 public:
  // Rows of `anchor`, a canonical name, pass whatever device is asked for.
  Filters(const std::vector<RowFilter>& filters, const CsvReader& table, const TableKind& kind,
          ValidationContext& context, std::string anchor)
      : context_(context), anchor_(std::move(anchor)) {
    for (const RowFilter& filter : filters) {
      if (filter.key == "device") {
        const std::string canonical = context.canonical_device(filter.value);
        by_cell_.push_back({std::string(kind.device_column()), canonical.empty() ? filter.value : canonical, true});
      } else if (table.has(filter.key)) {
        by_cell_.push_back({filter.key, filter.value, false});
      } else {
        by_group_.push_back(filter);
      }
    }
    seen_.resize(by_cell_.size() + by_group_.size());
    matched_.resize(seen_.size());
  }

  bool admits(const CsvRow& row) {
    for (std::size_t i = 0; i < by_cell_.size(); ++i) {
      const ByCell& filter = by_cell_[i];
      std::string cell(row.text(filter.column));
      if (filter.is_device) {
        const std::string canonical = context_.canonical_device(cell);
        if (!canonical.empty()) cell = canonical;
        if (!anchor_.empty() && cell == anchor_) continue;
      }
      if (!note(i, cell, filter.value)) return false;
    }
    return true;
  }

  bool admits(const RowGroup& group) {
    for (std::size_t i = 0; i < by_group_.size(); ++i) {
      const auto value = key_of(group, by_group_[i].key);
      if (!value || !note(by_cell_.size() + i, *value, by_group_[i].value)) return false;
    }
    return true;
  }

  bool need_groups() const { return !by_group_.empty(); }

  // Throws UserError when a filter has met no value that satisfies it.
  void check(const CsvReader& table, const std::set<std::string>& group_keys) const {
    for (std::size_t i = 0; i < seen_.size(); ++i) {
      if (matched_[i]) continue;
      const bool is_cell = i < by_cell_.size();
      const std::string key = !is_cell                ? by_group_[i - by_cell_.size()].key
                              : by_cell_[i].is_device ? "device"
                                                      : by_cell_[i].column;
      const std::string& value = is_cell ? by_cell_[i].value : by_group_[i - by_cell_.size()].value;
      if (seen_[i].empty() && !is_cell && !group_keys.contains(key)) {
        std::vector<std::string> known = table.columns();
        known.insert(known.end(), group_keys.begin(), group_keys.end());
        throw UserError(fmt::format("`--where {}={}`: {} has no column and no group key {}", key, value, table.file(),
                                    warploom::quoted(key)),
                        suggestion(key, known, "the keys are " + join(known)));
      }
      if (seen_[i].empty()) continue;  // an earlier filter left nothing
      const std::vector<std::string> values(seen_[i].begin(), seen_[i].end());
      throw UserError(fmt::format("`--where {}={}`: no row of {} has it", key, value, table.file()),
                      suggestion(value, values,
                                 values.size() <= most_suggested ? "its values are " + join(values) : std::string()));
    }
  }

 private:
  struct ByCell {
    std::string column;
    std::string value;
    bool is_device;
  };

  static std::optional<std::string> key_of(const RowGroup& group, const std::string& key) {
    if (key == "dtype") return group.dtype;
    if (key == "size_class") return group.size_class;
    if (key == "set") return group.set;
    for (const auto& [name, value] : group.keys) {
      if (name == key) return value;
    }
    return {};
  }

  bool note(std::size_t filter, const std::string& value, const std::string& wanted) {
    constexpr std::size_t most = 1000;
    if (seen_[filter].size() < most) seen_[filter].insert(value);
    if (value != wanted) return false;
    matched_[filter] = true;
    return true;
  }

  ValidationContext& context_;
  std::string anchor_;
  std::vector<ByCell> by_cell_;
  std::vector<RowFilter> by_group_;
  std::vector<std::set<std::string>> seen_;
  std::vector<bool> matched_;
};

// A mistake in a file of the library is nothing without its key.
std::string reason_of(const UserError& error) {
  const auto* config = dynamic_cast<const ConfigError*>(&error);
  if (config == nullptr || config->diagnostics().empty()) return error.message();
  const Diagnostic& first = config->diagnostics().front();
  return fmt::format("{}: `{}`: {}", first.origin.to_string(), first.path, first.message);
}

class TableReader {
 public:
  TableReader(CsvReader& table, const TableKind& kind, ValidationContext& context, const ValidationOptions& options)
      : table_(table),
        kind_(kind),
        context_(context),
        options_(options),
        anchor_(options.anchor.empty() ? std::string() : anchor_device(options.anchor, kind, context)),
        filters_(options.where, table, kind, context, anchor_) {
    result_.file = table.file();
    result_.kind = kind.name();
    result_.baseline_kind = kind.baseline();
    result_.columns = table.columns();
    result_.model = enum_name(context.model());
  }

  TableValidation read() {
    CsvRow row;
    for (bool more = true; more;) {
      try {
        more = table_.next(row);
      } catch (const CsvRowError& error) {
        skip(table_.rows_read(), error.origin().line(), error.message(), {});
        continue;
      }
      if (more) take(row);
      if (options_.progress && table_.rows_read() % 16 == 0) options_.progress(table_.rows_read());
    }
    if (table_.rows_read() == 0) throw UserError(Origin(table_.file(), 1, 0), "the table has a header and no rows");
    filters_.check(table_, group_keys_);
    result_.rows = static_cast<std::int64_t>(result_.predicted.size() + result_.skipped.size());
    return std::move(result_);
  }

  std::vector<BaselineRow>& baseline_rows() { return baseline_rows_; }
  const std::string& anchor() const { return anchor_; }
  const std::vector<PairingRow>& pairing_rows() const { return pairing_rows_; }  // with an anchor

 private:
  void take(const CsvRow& row) {
    if (!filters_.admits(row)) return;
    for (int measurement = 0; measurement < kind_.measurements(); ++measurement) take(row, measurement);
  }

  void take(const CsvRow& row, int measurement) {
    try {
      Predicted predicted = kind_.predict_one(row, measurement, context_);
      WARPLOOM_CHECK(predicted.measured_us > 0);
      require_plausible(predicted.measured_us);
      if (!(predicted.predicted_us > 0)) throw UserError("the prediction is not positive");
      const std::size_t group = group_of(predicted);
      if (!filters_.admits(result_.groups[group])) return;
      keep(row, measurement, predicted, group);
    } catch (const UserError& error) {
      if (filters_.need_groups()) return;  // its group is not known, so that it may not be meant
      skip(row.number_in_file(), row.line(), reason_of(error), row.cells());
    }
  }

  void keep(const CsvRow& row, int measurement, Predicted& predicted, std::size_t group) {
    ValidatedRow kept;
    kept.number = row.number_in_file();
    kept.line = row.line();
    kept.measurement = measurement;
    kept.group = group;
    kept.measured_us = predicted.measured_us;
    kept.predicted_us = predicted.predicted_us;
    kept.min_us = predicted.min_us;
    kept.max_us = predicted.max_us;
    kept.interval_us = predicted.interval_us;
    result_.predicted.push_back(kept);
    BaselineRow baseline;
    baseline.point = {predicted.baseline, predicted.measured_us};
    // A constant efficiency belongs to a family of devices: `a100_sxm` and `a100_pcie_40gb` are both A100s.
    const bool by_family = kind_.baseline() == BaselineKind::constant_efficiency;
    const std::string device = by_family ? predicted.device.substr(0, predicted.device.find('_')) : predicted.device;
    baseline.group = index_of(baseline_groups_, device + "\n" + predicted.dtype);
    baseline.set = index_of(baseline_sets_, predicted.set);
    baseline_rows_.push_back(baseline);
    if (!anchor_.empty())
      pairing_rows_.push_back({predicted.device, shape_of(row, kind_), ideal_us(predicted, context_)});
    if (options_.keeps_rows)
      result_.kept.push_back({{row.cells().begin(), row.cells().end()}, std::move(predicted.labels)});
  }

  void skip(std::int64_t number, std::int64_t line, const std::string& reason, std::span<const std::string> cells) {
    const std::size_t at = index_of(reasons_, reason);
    if (at == result_.reasons.size()) result_.reasons.push_back(reason);
    result_.skipped.push_back({number, line, at});
    if (options_.keeps_rows) result_.kept.push_back({{cells.begin(), cells.end()}, {}});
  }

  std::size_t group_of(const Predicted& predicted) {
    std::string key = fmt::format("{}\n{}\n{}\n{}\n{}", predicted.device, predicted.dtype, predicted.size_class,
                                  predicted.set, predicted.interval_us.has_value());
    for (const auto& [name, value] : predicted.group) key += fmt::format("\n{}={}", name, value);
    const std::size_t at = index_of(groups_, key);
    if (at == result_.groups.size()) {
      RowGroup group;
      group.device = context_.shown_device(predicted.device);
      group.dtype = predicted.dtype;
      group.size_class = predicted.size_class;
      group.set = predicted.set;
      group.keys = predicted.group;
      group.is_interval = predicted.interval_us.has_value();
      result_.groups.push_back(std::move(group));
      for (const auto& [name, value] : predicted.group) group_keys_.insert(name);
      group_keys_.insert({"device", "dtype"});
      if (!predicted.size_class.empty()) group_keys_.insert("size_class");
      if (!predicted.set.empty()) group_keys_.insert("set");
    }
    return at;
  }

  static std::size_t index_of(std::unordered_map<std::string, std::size_t>& indices, const std::string& key) {
    return indices.emplace(key, indices.size()).first->second;
  }

  CsvReader& table_;
  const TableKind& kind_;
  ValidationContext& context_;
  const ValidationOptions& options_;
  std::string anchor_;
  Filters filters_;
  TableValidation result_;
  std::vector<BaselineRow> baseline_rows_;
  std::vector<PairingRow> pairing_rows_;
  std::unordered_map<std::string, std::size_t> groups_, reasons_, baseline_groups_, baseline_sets_;
  std::set<std::string> group_keys_;
};

double mean_width(const std::vector<const ValidatedRow*>& rows) {
  double sum = 0;
  for (const ValidatedRow* row : rows) sum += row->interval_us->second / row->interval_us->first - 1;
  return sum / static_cast<double>(rows.size());
}

// The prediction that is scored: the nearest of an interval.
double scored(const ValidatedRow& row) { return row.measured_us * (1 + row.error()); }

void summarise(TableValidation& table) {
  std::vector<ErrorCollector> errors(table.groups.size());
  std::vector<ErrorCollector> baselines(table.groups.size());
  std::vector<std::vector<const ValidatedRow*>> intervals(table.groups.size());
  ErrorCollector all;
  ErrorCollector all_baselines;
  for (const ValidatedRow& row : table.predicted) {
    errors[row.group].add(scored(row), row.measured_us, row.min_us, row.max_us);
    baselines[row.group].add(row.baseline_us, row.measured_us, row.min_us, row.max_us);
    if (row.interval_us) {
      intervals[row.group].push_back(&row);
      continue;
    }
    all.add(scored(row), row.measured_us, row.min_us, row.max_us);
    all_baselines.add(row.baseline_us, row.measured_us, row.min_us, row.max_us);
  }
  table.overall = all.summary();
  table.baseline = all_baselines.summary();
  for (std::size_t i = 0; i < table.groups.size(); ++i) {
    table.groups[i].errors = errors[i].summary();
    table.groups[i].baseline = baselines[i].summary();
    if (!intervals[i].empty()) table.groups[i].interval_width = mean_width(intervals[i]);
  }
}

// In reading order; groups that filters left without rows go.
void sort_groups(TableValidation& table) {
  std::vector<bool> has_rows(table.groups.size());
  for (const ValidatedRow& row : table.predicted) has_rows[row.group] = true;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < table.groups.size(); ++i) {
    if (has_rows[i]) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto key = [&](std::size_t i) {
      const RowGroup& g = table.groups[i];
      return std::tie(g.is_interval, g.device, g.dtype, g.keys, g.set, g.size_class);
    };
    return key(a) < key(b);
  });
  std::vector<std::size_t> place(table.groups.size());
  std::vector<RowGroup> sorted;
  for (const std::size_t old : order) {
    place[old] = sorted.size();
    sorted.push_back(std::move(table.groups[old]));
  }
  table.groups = std::move(sorted);
  for (ValidatedRow& row : table.predicted) row.group = place[row.group];
}

void look_up_records(TableValidation& table, ValidationContext& context) {
  const ErrorBands& bands = error_bands(context);
  double sum = 0;
  std::int64_t rows = 0;
  for (RowGroup& group : table.groups) {
    const ErrorBand* band = bands.find(table.kind, group.device, group.dtype, band_class(group));
    if (band == nullptr || !band->leave_one_set_out_mape) continue;
    group.leave_one_set_out_mape = band->leave_one_set_out_mape;
    sum += *band->leave_one_set_out_mape * static_cast<double>(group.errors.rows);
    rows += group.errors.rows;
  }
  if (rows > 0) table.leave_one_set_out_mape = sum / static_cast<double>(rows);
}

}  // namespace

double ValidatedRow::error() const {
  double nearest = predicted_us;
  if (interval_us) nearest = std::clamp(measured_us, interval_us->first, interval_us->second);
  return nearest / measured_us - 1;
}

void set_beside(TableValidation& table, const TableValidation& other) {
  std::map<std::pair<std::int64_t, int>, const ValidatedRow*> known;
  for (const ValidatedRow& row : other.predicted) known.emplace(std::pair(row.number, row.measurement), &row);
  std::vector<ErrorCollector> groups(table.groups.size());
  ErrorCollector all;
  for (ValidatedRow& row : table.predicted) {
    const auto found = known.find({row.number, row.measurement});
    if (found == known.end()) continue;
    row.other_us = scored(*found->second);
    groups[row.group].add(*row.other_us, row.measured_us, row.min_us, row.max_us);
    if (!row.interval_us) all.add(*row.other_us, row.measured_us, row.min_us, row.max_us);
  }
  for (std::size_t i = 0; i < groups.size(); ++i) table.groups[i].other = groups[i].summary();
  table.other_overall = all.summary();
  table.other_model = other.model;
}

RowFilter RowFilter::parse(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw UserError(fmt::format("`--where`: expected KEY=VALUE, got {}", warploom::quoted(text)),
                    "such as `--where device=h100_sxm`");
  return {text.substr(0, equals), text.substr(equals + 1)};
}

TableValidation validate_table(CsvReader table, ValidationContext& context, const ValidationOptions& options) {
  const TableKind& kind = table_kind_of(table);
  TableReader reader(table, kind, context, options);
  TableValidation result = reader.read();
  if (!reader.anchor().empty()) {
    const TableValidation plain = result;
    predict_from_anchor(result, reader.pairing_rows(), reader.anchor());
    sort_groups(result);
    summarise(result);
    set_beside(result, plain);
    return result;
  }
  const auto baselines = baseline_times(kind.baseline(), reader.baseline_rows());
  for (std::size_t i = 0; i < baselines.size(); ++i) result.predicted[i].baseline_us = baselines[i];
  sort_groups(result);
  summarise(result);
  look_up_records(result, context);
  return result;
}

}  // namespace warploom
