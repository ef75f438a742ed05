// SPDX-License-Identifier: Apache-2.0
// Validated tables for people and for spreadsheets.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/core/text.hpp"
#include "sim/play/text_table.hpp"
#include "workloads/validation/validation.hpp"

namespace warploom {

namespace {

constexpr std::size_t most_reasons = 12;
constexpr std::size_t most_rows_named = 5;

std::string percent(std::optional<double> share) { return share ? fmt::format("{:.1f}%", 100 * *share) : "-"; }
std::string signed_percent(std::optional<double> share) { return share ? fmt::format("{:+.1f}%", 100 * *share) : "-"; }

std::string count_of(std::int64_t count) {
  const std::string digits = std::to_string(count);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string_view baseline_title(BaselineKind kind) {
  switch (kind) {
    case BaselineKind::roofline:
      return "roofline*";
    case BaselineKind::latency_bandwidth:
      return "latency + bandwidth*";
    case BaselineKind::constant_efficiency:
      return "constant efficiency*";
    case BaselineKind::unchanged:
      return "unchanged*";
    case BaselineKind::peaks:
      return "ratio of peaks*";
  }
  return "";
}

std::string_view baseline_note(BaselineKind kind) {
  switch (kind) {
    case BaselineKind::roofline:
      return "three parameters (t0, FLOP rate, bandwidth) fitted to these rows by device and data type";
    case BaselineKind::latency_bandwidth:
      return "two parameters fitted to these rows by device and data type";
    case BaselineKind::constant_efficiency:
      return "one efficiency a GPU family and data type, fitted on the other sets";
    case BaselineKind::unchanged:
      return "as long as it was captured; of an unchanged replay, as long as its device was busy";
    case BaselineKind::peaks:
      return "measured on the anchor, scaled by what bounds it at both data sheets' peaks";
  }
  return "";
}

// How much of a group's keys its line shows: a table with hundreds of groups is read by fewer.
enum class Detail { all, without_set, device_and_first_key };

std::string title_of(const RowGroup& group, Detail detail) {
  std::vector<std::string> parts = {group.device};
  if (detail != Detail::device_and_first_key) parts.push_back(group.dtype);
  for (const auto& [name, value] : group.keys) {
    parts.push_back(value);
    if (detail == Detail::device_and_first_key) break;
  }
  if (detail == Detail::all) parts.push_back(group.set);
  parts.push_back(group.size_class);
  if (group.is_interval) parts.emplace_back("(settings open)");
  std::erase(parts, "");
  return join(parts, " ");
}

// One line of the table: a group, or several that differ in what is not shown.
struct Line {
  ErrorSummary errors, baseline;
  std::optional<double> left_out;
  std::optional<ErrorSummary> other;
};

Line merged(const TableValidation& table, const std::vector<std::size_t>& groups) {
  if (groups.size() == 1) {
    const RowGroup& group = table.groups[groups.front()];
    return {group.errors, group.baseline, group.leave_one_set_out_mape, group.other};
  }
  ErrorCollector errors, baseline, other;
  for (const ValidatedRow& row : table.predicted) {
    if (std::ranges::find(groups, row.group) == groups.end()) continue;
    errors.add(row.predicted_us, row.measured_us, row.min_us, row.max_us);
    baseline.add(row.baseline_us, row.measured_us);
    if (row.other_us) other.add(*row.other_us, row.measured_us, row.min_us, row.max_us);
  }
  Line line{errors.summary(), baseline.summary(), 0.0, other.summary()};
  for (const std::size_t index : groups) {
    const RowGroup& group = table.groups[index];
    if (!group.leave_one_set_out_mape) line.left_out.reset();
    if (line.left_out)
      *line.left_out += *group.leave_one_set_out_mape * static_cast<double>(group.errors.rows) /
                        static_cast<double>(line.errors.rows);
  }
  return line;
}

std::vector<std::pair<std::string, Line>> lines_of(const TableValidation& table) {
  constexpr std::size_t most_lines = 48;
  std::vector<std::pair<std::string, std::vector<std::size_t>>> titled;
  for (const Detail detail : {Detail::all, Detail::without_set, Detail::device_and_first_key}) {
    titled.clear();
    for (std::size_t i = 0; i < table.groups.size(); ++i) {
      const std::string title = title_of(table.groups[i], detail);
      const auto known = std::ranges::find(titled, title, [](const auto& line) { return line.first; });
      if (known != titled.end()) {
        known->second.push_back(i);
      } else {
        titled.emplace_back(title, std::vector<std::size_t>{i});
      }
    }
    if (titled.size() <= most_lines) break;
  }
  std::vector<std::pair<std::string, Line>> lines;
  for (const auto& [title, groups] : titled) lines.emplace_back(title, merged(table, groups));
  return lines;
}

std::string errors_of(const TableValidation& table) {
  const bool has_band = std::any_of(table.predicted.begin(), table.predicted.end(),
                                    [](const auto& row) { return row.min_us.has_value(); });
  const bool has_other = !table.other_model.empty();
  const bool has_records = table.model == "analytic";
  std::vector<std::string> header = {"", "rows", has_other ? table.model : "MAPE", "median", "p90", "bias"};
  if (has_band) header.emplace_back("in band");
  if (has_other) header.push_back(table.other_model);
  if (has_other && has_band) header.emplace_back("in band");
  header.emplace_back(baseline_title(table.baseline_kind));
  if (has_records) header.emplace_back("leave-one-out");
  TextTable text(header);
  const auto add = [&](const std::string& title, const Line& line) {
    const ErrorSummary& errors = line.errors;
    std::vector<std::string> cells = {title,
                                      count_of(errors.rows),
                                      percent(errors.mape),
                                      percent(errors.median_ape),
                                      percent(errors.p90_ape),
                                      signed_percent(errors.bias)};
    const ErrorSummary other = line.other.value_or(ErrorSummary());
    if (has_band) cells.push_back(percent(errors.inside_band));
    if (has_other) cells.push_back(percent(other.mape));
    if (has_other && has_band) cells.push_back(percent(other.inside_band));
    cells.push_back(percent(line.baseline.mape));
    if (has_records) cells.push_back(percent(line.left_out));
    text.add(std::move(cells));
  };
  for (const auto& [title, line] : lines_of(table)) add(title, line);
  add("all", {table.overall, table.baseline, table.leave_one_set_out_mape, table.other_overall});
  return text.to_string();
}

std::string skipped_of(const TableValidation& table) {
  if (table.skipped.empty()) return {};
  std::vector<std::vector<std::int64_t>> rows(table.reasons.size());
  for (const SkippedRow& row : table.skipped) rows[row.reason].push_back(row.number);
  std::vector<std::size_t> order(rows.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return rows[a].size() > rows[b].size(); });
  std::string text = fmt::format("  skipped {}:\n", count_of(static_cast<std::int64_t>(table.skipped.size())));
  for (std::size_t i = 0; i < std::min(order.size(), most_reasons); ++i) {
    const auto& numbers = rows[order[i]];
    std::vector<std::string> named;
    for (std::size_t j = 0; j < std::min(numbers.size(), most_rows_named); ++j)
      named.push_back(std::to_string(numbers[j]));
    text += fmt::format("    {:>7}  {} (row{} {}{})\n", count_of(static_cast<std::int64_t>(numbers.size())),
                        table.reasons[order[i]], numbers.size() == 1 ? "" : "s", join(named),
                        numbers.size() > most_rows_named ? ", ..." : "");
  }
  if (order.size() > most_reasons)
    text += fmt::format("    and {} more reasons: `--json` and `--rows` list all\n", order.size() - most_reasons);
  return text;
}

std::string intervals_of(const TableValidation& table) {
  std::int64_t rows = 0;
  std::int64_t inside = 0;
  double width = 0;
  for (const ValidatedRow& row : table.predicted) {
    if (!row.interval_us) continue;
    ++rows;
    width += row.interval_us->second / row.interval_us->first - 1;
    if (row.error() == 0) ++inside;
  }
  if (rows == 0) return {};
  return fmt::format(
      "  settings open: {} row{} predicted over all settings that fit; {} inside the interval, which is {:.0f}% wide "
      "on\n"
      "  average; the error is the distance to it. These rows are not part of `all`.\n",
      count_of(rows), rows == 1 ? "" : "s", count_of(inside), 100 * width / static_cast<double>(rows));
}

std::string number_text(double value) { return fmt::format("{:.6g}", value); }

std::string labels_text(const RowGroup& group, const std::vector<Label>& labels) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : group.keys) parts.push_back(name + "=" + value);
  for (const auto& [name, value] : labels) parts.push_back(name + "=" + value);
  return join(parts, ";");
}

// The table's own cells, in the order of the columns of all tables.
std::string own_cells(const TableValidation& table, const KeptRow& kept, const std::vector<std::string>& columns) {
  std::map<std::string_view, std::string_view> cells;
  for (std::size_t i = 0; i < std::min(kept.cells.size(), table.columns.size()); ++i)
    cells[table.columns[i]] = kept.cells[i];
  std::string text;
  for (const std::string& column : columns) {
    const auto cell = cells.find(column);
    text += "," + (cell == cells.end() ? std::string() : csv_cell(cell->second));
  }
  return text;
}

void add_rows(const TableValidation& table, const std::vector<std::string>& columns, bool has_other,
              std::string& text) {
  std::size_t predicted = 0;
  std::size_t skipped = 0;
  for (const KeptRow& kept : table.kept) {
    const bool is_predicted =
        predicted < table.predicted.size() &&
        (skipped == table.skipped.size() || table.predicted[predicted].number <= table.skipped[skipped].number);
    if (is_predicted) {
      const ValidatedRow& row = table.predicted[predicted++];
      const RowGroup& group = table.groups[row.group];
      const auto interval = row.interval_us.value_or(std::pair(0.0, 0.0));
      text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},", csv_cell(table.file), table.kind, row.number,
                          row.line, group.device, csv_cell(group.dtype), csv_cell(group.size_class),
                          csv_cell(group.set), csv_cell(labels_text(group, kept.labels)), number_text(row.measured_us),
                          number_text(row.predicted_us), row.interval_us ? number_text(interval.first) : "",
                          row.interval_us ? number_text(interval.second) : "", number_text(row.error()),
                          number_text(row.baseline_us));
      if (has_other) text += "," + (row.other_us ? number_text(*row.other_us) : std::string());
    } else {
      const SkippedRow& row = table.skipped[skipped++];
      text += fmt::format("{},{},{},{},,,,,,,,,,,,{}", csv_cell(table.file), table.kind, row.number, row.line,
                          csv_cell(table.reasons[row.reason]));
      if (has_other) text += ",";
    }
    text += own_cells(table, kept, columns) + "\n";
  }
}

}  // namespace

std::string to_text(const TableValidation& table) {
  const auto predicted = static_cast<std::int64_t>(table.predicted.size());
  const std::string anchor = table.anchor.empty() ? "" : fmt::format(" from {}", table.anchor);
  std::string text = fmt::format("{}: {}, {} row{}, {} predicted{}\n", table.file, table.kind, count_of(table.rows),
                                 table.rows == 1 ? "" : "s", count_of(predicted), anchor);
  if (predicted > 0) {
    text += "\n" + errors_of(table) + "\n";
    text += intervals_of(table);
    text += fmt::format("  * {}\n", baseline_note(table.baseline_kind));
    if (!table.other_model.empty()) {
      text += fmt::format("  {} and {}: mean absolute errors of the two models on the rows that {} predicts\n",
                          table.model, table.other_model, table.model);
    }
  }
  return text + skipped_of(table);
}

std::string rows_as_csv(const std::vector<TableValidation>& tables) {
  std::vector<std::string> columns;
  for (const TableValidation& table : tables) {
    for (const std::string& column : table.columns) {
      if (std::find(columns.begin(), columns.end(), column) == columns.end()) columns.push_back(column);
    }
  }
  std::string text =
      "file,kind,row,line,device,dtype,size_class,set,labels,measured_us,predicted_us,fastest_us,slowest_us,error,"
      "baseline_us,skipped";
  const auto other = std::ranges::find_if(tables, [](const auto& table) { return !table.other_model.empty(); });
  const bool has_other = other != tables.end();
  if (has_other) text += fmt::format(",{}_us", other->other_model);
  for (const std::string& column : columns) text += "," + csv_cell("table." + column);
  text += "\n";
  for (const TableValidation& table : tables) add_rows(table, columns, has_other, text);
  return text;
}

}  // namespace warploom
