// SPDX-License-Identifier: Apache-2.0
// A strict, streaming reader of CSV files (RFC 4180) from strangers: a header of names, rows by name, errors with file
// and line.
//
//   CsvReader table = CsvReader::open("gemm.csv");
//   table.require({"m", "n", "latency_us"});
//   CsvRow row;
//   while (table.next(row)) total += row.positive_number("latency_us");
//
// Memory is bounded by one row, whatever the file's size. Quotes, CRLF and a byte-order mark are understood; a comment
// is not part of CSV. What concerns the file (no header, a doubled column, an unclosed quote, binary bytes, a row
// beyond the limits) is a UserError; what concerns one row (too few cells, text for a number) is a CsvRowError, after
// which reading may go on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/errors.hpp"

namespace warploom {

// One row that cannot be used. message() names the column and what came; what() adds file and line.
class CsvRowError : public UserError {
 public:
  using UserError::UserError;
};

struct CsvLimits {
  std::size_t row_bytes = std::size_t{1} << 20;
  std::size_t columns = 1000;
};

namespace detail {
struct CsvHeader {
  std::shared_ptr<const std::string> file;
  std::vector<std::string> columns;
  std::optional<std::size_t> find(std::string_view column) const;
};
}  // namespace detail

class CsvRow {
 public:
  bool has(std::string_view column) const;
  // The cell, blanks around it removed; empty where it is blank. Throws UserError when the table lacks the column.
  std::string_view text(std::string_view column) const;
  bool is_blank(std::string_view column) const { return !has(column) || text(column).empty(); }

  // Finite numbers, and whole ones (`64` or `64.0`). Throw CsvRowError.
  double number(std::string_view column) const;
  double positive_number(std::string_view column) const;
  std::int64_t integer(std::string_view column) const;
  std::int64_t positive_integer(std::string_view column) const;
  // The same; none where the cell is blank or the table lacks the column.
  std::optional<double> optional_number(std::string_view column) const;
  std::optional<double> optional_positive_number(std::string_view column) const;
  std::optional<std::int64_t> optional_integer(std::string_view column) const;
  std::optional<std::string_view> optional_text(std::string_view column) const;

  std::span<const std::string> cells() const { return cells_; }    // as they came, quotes removed
  std::int64_t number_in_file() const { return number_in_file_; }  // of data rows, from 1
  std::int64_t line() const { return line_; }                      // where it starts, from 1
  Origin origin() const;

 private:
  friend class CsvReader;
  [[noreturn]] void fail(std::string_view column, std::string_view expected) const;
  template <class Value, class Parse>
  Value parsed(std::string_view column, std::string_view expected, Parse parse) const;

  std::shared_ptr<const detail::CsvHeader> header_;
  std::vector<std::string> cells_;
  std::int64_t number_in_file_ = 0;
  std::int64_t line_ = 0;
};

class CsvReader {
 public:
  // Throw UserError for a file that cannot be read, is empty, or has no usable header.
  static CsvReader open(const std::string& path, const CsvLimits& limits = {});
  static CsvReader from_text(std::string text, std::string name, const CsvLimits& limits = {});
  CsvReader(CsvReader&&) noexcept;
  CsvReader& operator=(CsvReader&&) noexcept;
  ~CsvReader();

  const std::string& file() const { return *header_->file; }
  const std::vector<std::string>& columns() const { return header_->columns; }
  bool has(std::string_view column) const { return header_->find(column).has_value(); }
  // Throws UserError that names every column that is not there, with what may be meant.
  void require(std::span<const std::string_view> columns) const;
  void require(std::initializer_list<std::string_view> columns) const {
    require(std::span(columns.begin(), columns.size()));
  }

  // The next row; false at the end. Blank lines are passed over.
  bool next(CsvRow& row);
  std::int64_t rows_read() const { return rows_; }

 private:
  CsvReader(std::unique_ptr<std::istream> input, std::string name, const CsvLimits& limits);
  void read_header();
  // One record, which may span lines; false at the end of the file.
  bool read_record(std::vector<std::string>& cells);
  int get();
  [[noreturn]] void fail(std::string message, std::string hint = {}) const;

  std::unique_ptr<std::istream> input_;
  std::shared_ptr<detail::CsvHeader> header_;
  CsvLimits limits_;
  std::int64_t line_ = 1;         // of the next byte
  std::int64_t record_line_ = 1;  // where the record starts
  std::int64_t rows_ = 0;
};

// A cell as it must be written: quoted where it holds a comma, a quote or a line break.
std::string csv_cell(std::string_view text);

}  // namespace warploom
