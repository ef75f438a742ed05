// SPDX-License-Identifier: Apache-2.0
// Reads bytes one at a time from the stream's buffer; says what is wrong in the words of a table.
#include "sim/core/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "sim/core/text.hpp"

namespace warploom {

namespace {

constexpr int end_of_file = std::char_traits<char>::eof();

std::optional<double> parse_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return {};
  return value;
}

// `64`, and `64.0` as spreadsheets and pandas write whole numbers beside blank cells.
std::optional<std::int64_t> parse_integer(std::string_view text) {
  const auto value = parse_number(text);
  constexpr double largest = 9e15;  // whole numbers are exact up to here
  if (!value || *value != std::floor(*value) || std::abs(*value) > largest) return {};
  return static_cast<std::int64_t>(*value);
}

}  // namespace

std::optional<std::size_t> detail::CsvHeader::find(std::string_view column) const {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i] == column) return i;
  }
  return {};
}

// ---- Rows -----------------------------------------------------------------------------------------------------------

bool CsvRow::has(std::string_view column) const { return header_ && header_->find(column).has_value(); }

std::string_view CsvRow::text(std::string_view column) const {
  const auto at = header_ ? header_->find(column) : std::nullopt;
  if (!at) throw UserError(origin(), fmt::format("there is no column `{}`", column));
  return trim(cells_[*at]);
}

Origin CsvRow::origin() const {
  if (!header_) return {};
  return {header_->file, static_cast<int>(std::min<std::int64_t>(line_, 2'000'000'000)), 0};
}

void CsvRow::fail(std::string_view column, std::string_view expected) const {
  const std::string_view cell = text(column);
  throw CsvRowError(origin(), fmt::format("column `{}`: expected {}, got {}", column, expected,
                                          cell.empty() ? "nothing" : warploom::quoted(cell)));
}

template <class Value, class Parse>
Value CsvRow::parsed(std::string_view column, std::string_view expected, Parse parse) const {
  const std::optional<Value> value = parse(text(column));
  if (!value) fail(column, expected);
  return *value;
}

double CsvRow::number(std::string_view column) const { return parsed<double>(column, "a number", parse_number); }

double CsvRow::positive_number(std::string_view column) const {
  return parsed<double>(column, "a positive number", [](std::string_view text) {
    const auto value = parse_number(text);
    return value && *value > 0 ? value : std::nullopt;
  });
}

std::int64_t CsvRow::integer(std::string_view column) const {
  return parsed<std::int64_t>(column, "a whole number", parse_integer);
}

std::int64_t CsvRow::positive_integer(std::string_view column) const {
  return parsed<std::int64_t>(column, "a positive whole number", [](std::string_view text) {
    const auto value = parse_integer(text);
    return value && *value > 0 ? value : std::nullopt;
  });
}

std::optional<double> CsvRow::optional_number(std::string_view column) const {
  if (is_blank(column)) return {};
  return number(column);
}

std::optional<double> CsvRow::optional_positive_number(std::string_view column) const {
  if (is_blank(column)) return {};
  return positive_number(column);
}

std::optional<std::int64_t> CsvRow::optional_integer(std::string_view column) const {
  if (is_blank(column)) return {};
  return integer(column);
}

std::optional<std::string_view> CsvRow::optional_text(std::string_view column) const {
  if (!has(column)) return {};
  const std::string_view cell = text(column);
  return cell.empty() ? std::nullopt : std::optional(cell);
}

// ---- The reader -----------------------------------------------------------------------------------------------------

CsvReader::CsvReader(CsvReader&&) noexcept = default;
CsvReader& CsvReader::operator=(CsvReader&&) noexcept = default;
CsvReader::~CsvReader() = default;

CsvReader::CsvReader(std::unique_ptr<std::istream> input, std::string name, const CsvLimits& limits)
    : input_(std::move(input)), header_(std::make_shared<detail::CsvHeader>()), limits_(limits) {
  header_->file = std::make_shared<const std::string>(std::move(name));
  read_header();
}

CsvReader CsvReader::open(const std::string& path, const CsvLimits& limits) {
  std::error_code error;
  const auto type = std::filesystem::status(path, error).type();
  if (type == std::filesystem::file_type::not_found) throw UserError("there is no file " + warploom::quoted(path));
  if (type == std::filesystem::file_type::directory)
    throw UserError(warploom::quoted(path) + " is a folder, expected a CSV file");
  // A pipe without a writer would be waited for.
  if (type != std::filesystem::file_type::regular)
    throw UserError(warploom::quoted(path) + " is a pipe or a device, expected a CSV file");
  auto file = std::make_unique<std::ifstream>(path, std::ios::binary);
  if (!*file) throw UserError("cannot read " + warploom::quoted(path));
  return {std::move(file), path, limits};
}

CsvReader CsvReader::from_text(std::string text, std::string name, const CsvLimits& limits) {
  return {std::make_unique<std::istringstream>(std::move(text)), std::move(name), limits};
}

void CsvReader::fail(std::string message, std::string hint) const {
  const auto line = static_cast<int>(std::min<std::int64_t>(record_line_, 2'000'000'000));
  throw UserError(Origin(header_->file, line, 0), std::move(message), std::move(hint));
}

// A line ends with LF, CRLF or CR; all are one LF here.
int CsvReader::get() {
  std::streambuf& buffer = *input_->rdbuf();
  int byte = buffer.sbumpc();
  if (byte == '\0') {
    record_line_ = line_;
    fail("expected text, got a NUL byte", "is it a CSV file in UTF-8?");
  }
  if (byte == '\r') {
    if (buffer.sgetc() == '\n') buffer.sbumpc();
    byte = '\n';
  }
  if (byte == '\n') ++line_;
  return byte;
}

bool CsvReader::read_record(std::vector<std::string>& cells) {
  std::size_t count = 0;
  std::size_t bytes = 0;
  bool is_malformed = false;
  const auto begin_cell = [&]() -> std::string& {
    if (count == limits_.columns) fail(fmt::format("more than {} cells", limits_.columns), "is it a CSV file?");
    if (cells.size() == count) cells.emplace_back();
    cells[count].clear();
    return cells[count++];
  };
  const auto take = [&](std::string& cell, int byte) {
    if (++bytes > limits_.row_bytes) {
      fail(fmt::format("a row of more than {} bytes", limits_.row_bytes), "a quote may not be closed");
    }
    cell += static_cast<char>(byte);
  };
  record_line_ = line_;
  int byte = get();
  while (byte == '\n') {  // blank lines
    record_line_ = line_;
    byte = get();
  }
  if (byte == end_of_file) return false;
  for (bool more = true; more;) {
    std::string& cell = begin_cell();
    const bool is_quoted = byte == '"';
    if (is_quoted) {
      for (;;) {
        byte = get();
        if (byte == end_of_file) fail("a quote is opened and not closed");
        if (byte == '"') {
          byte = get();
          if (byte != '"') break;  // two stand for one
        }
        take(cell, byte);
      }
    }
    for (; byte != ',' && byte != '\n' && byte != end_of_file; byte = get()) {
      // RFC 4180: a quote stands only around a whole cell.
      is_malformed = is_malformed || is_quoted || byte == '"';
      take(cell, byte);
    }
    more = byte == ',';
    if (more) byte = get();
  }
  cells.resize(count);
  if (is_malformed) {
    throw CsvRowError(Origin(header_->file, static_cast<int>(std::min<std::int64_t>(record_line_, 2'000'000'000)), 0),
                      "a quote inside a cell that is not quoted as a whole");
  }
  return true;
}

void CsvReader::read_header() {
  std::streambuf& buffer = *input_->rdbuf();
  for (const int byte : {0xef, 0xbb, 0xbf}) {  // UTF-8's byte-order mark
    if (buffer.sgetc() != byte) break;
    buffer.sbumpc();
  }
  if (buffer.sgetc() == 0xff || buffer.sgetc() == 0xfe) fail("expected text in UTF-8, got UTF-16", "save it as UTF-8");
  std::vector<std::string>& names = header_->columns;
  if (!read_record(names)) {
    throw UserError(Origin(header_->file, 0, 0), "the file is empty", "its first line must name its columns");
  }
  for (std::string& name : names) name = std::string(trim(name));
  const bool is_numbers =
      std::all_of(names.begin(), names.end(), [](const std::string& name) { return parse_number(name).has_value(); });
  if (is_numbers) fail("expected the names of columns, got numbers", "the first line must name the columns");
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) fail(fmt::format("column {} of {} has no name", i + 1, names.size()));
    const auto first = *header_->find(names[i]);
    if (first != i) {
      fail(fmt::format("column {} is there twice: as number {} and as number {}", warploom::quoted(names[i]), first + 1,
                       i + 1));
    }
  }
}

void CsvReader::require(std::span<const std::string_view> columns) const {
  std::vector<std::string> missing;
  std::string hint;
  for (const std::string_view column : columns) {
    if (has(column)) continue;
    missing.push_back(fmt::format("`{}`", column));
    const auto near = nearest_name(column, this->columns());
    const bool is_other = near && std::find(columns.begin(), columns.end(), *near) == columns.end();
    if (is_other) hint += fmt::format("{}is `{}` meant by `{}`?", hint.empty() ? "" : " ", column, *near);
  }
  if (missing.empty()) return;
  std::vector<std::string> there;
  for (const std::string& name : this->columns()) there.push_back(warploom::quoted(name));
  if (hint.empty()) hint = "its columns are " + join(there);
  throw UserError(Origin(header_->file, 1, 0), fmt::format("there is no column {}", join(missing)), hint);
}

bool CsvReader::next(CsvRow& row) {
  row.header_ = header_;
  ++rows_;
  if (!read_record(row.cells_)) {
    --rows_;
    return false;
  }
  row.line_ = record_line_;
  row.number_in_file_ = rows_;
  if (row.cells_.size() != columns().size()) {
    const std::size_t came = row.cells_.size();
    throw CsvRowError(row.origin(), fmt::format("expected {} cells, got {}", columns().size(), came));
  }
  return true;
}

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace warploom
