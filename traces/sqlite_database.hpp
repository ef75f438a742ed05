// SPDX-License-Identifier: Apache-2.0
// A stranger's SQLite file, read only: tables by name, columns that may be missing, rows whose cells may be of any
// type.
//
// A plain file is opened where it lies. What comes compressed or from an archive is held in memory up to 64 MiB and
// beyond that spilled to a temporary file that has no name (64 GiB at most). Only real tables are read: no view, no
// virtual table, no trigger of the file ever runs. The rows and texts handed out are bounded by the file's own size,
// which a broken tree of pages that leads back into itself would exceed.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "traces/byte_source.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace warploom {

inline constexpr std::string_view sqlite_magic{"SQLite format 3\0", 16};

// Rows of one table as they are stepped through. A column that the table lacks is null in every row.
class SqliteRows {
 public:
  // Throws UserError naming file, table and row where the file is broken.
  bool next();
  std::int64_t row() const { return row_; }  // from 1
  // Where it stands, for repairs: "table KERNEL, row 17".
  std::string where() const;
  bool is_null(int column) const;
  // Whole numbers, written as such or as text; none for null and any other type.
  std::optional<std::int64_t> integer(int column) const;
  std::int64_t integer_or(int column, std::int64_t fallback) const { return integer(column).value_or(fallback); }
  std::string_view text(int column) const;  // empty for null; until the next row
  // A number of any kind as decimal text (15 significant digits where it is binary); empty for what is none.
  std::string number_text(int column) const;

 private:
  friend class SqliteDatabase;
  struct Finalise {
    void operator()(sqlite3_stmt* statement) const;
  };
  SqliteRows(std::unique_ptr<sqlite3_stmt, Finalise> statement, std::string file, std::string table,
             std::uint64_t bytes)
      : statement_(std::move(statement)), file_(std::move(file)), table_(std::move(table)), bytes_(bytes) {}

  std::unique_ptr<sqlite3_stmt, Finalise> statement_;
  std::string file_;
  std::string table_;
  std::uint64_t bytes_ = 0;               // of the file
  mutable std::uint64_t text_bytes_ = 0;  // handed out
  std::int64_t row_ = 0;
};

class SqliteDatabase {
 public:
  // Throws UserError where the source holds no SQLite database that can be read.
  explicit SqliteDatabase(ByteSource& source);
  explicit SqliteDatabase(const std::string& path);
  SqliteDatabase(SqliteDatabase&&) noexcept;
  SqliteDatabase& operator=(SqliteDatabase&&) noexcept;
  ~SqliteDatabase();

  const std::string& file() const { return file_; }
  bool has(std::string_view table) const { return columns_.contains(std::string(table)); }
  bool has(std::string_view table, std::string_view column) const;
  std::size_t table_count() const { return columns_.size(); }
  // In the order in which the table holds them; no rows where there is no such table. `condition` is SQL of ours.
  SqliteRows rows(std::string_view table, std::initializer_list<std::string_view> columns,
                  std::string_view condition = {}) const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  void open(const std::string& path, bool is_immutable);
  void open_in_memory(std::string_view content);
  void open_spilled(ByteSource& source, std::string_view so_far);
  void prepare();  // limits, and which tables there are
  std::unique_ptr<sqlite3_stmt, SqliteRows::Finalise> statement(const std::string& sql) const;
  [[noreturn]] void fail(std::string_view what) const;

  std::string file_;
  std::uint64_t bytes_ = 0;
  std::unique_ptr<sqlite3, Close> database_;
  std::map<std::string, std::set<std::string>> columns_;  // by table
};

}  // namespace warploom
