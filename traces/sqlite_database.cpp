// SPDX-License-Identifier: Apache-2.0
// SQLite behind one interface: files by path, memory, rows of columns that may be missing.
#include "traces/sqlite_database.hpp"

#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "sim/core/errors.hpp"

namespace warploom {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t held_in_memory = 64ULL << 20U;
constexpr std::uint64_t spilled_at_most = 64ULL << 30U;
constexpr int longest_cell = 1 << 20;
constexpr std::size_t piece = 1UL << 20U;
constexpr const char* broken_hint = "the file is broken or was copied while it was written: export or copy it again";

// Fills as far as the source goes.
std::size_t fill(ByteSource& source, std::span<char> into) {
  std::size_t filled = 0;
  while (filled < into.size()) {
    const std::size_t count = source.read(into.subspan(filled));
    if (count == 0) break;
    filled += count;
  }
  return filled;
}

// Whether the source is that very file on disk, as it lies there.
bool is_on_disk(ByteSource& source) {
  std::error_code error;
  if (!fs::is_regular_file(source.name(), error) || error) return false;
  if (fs::file_size(source.name(), error) != source.bytes_in_all() || error) return false;
  std::ifstream file(source.name(), std::ios::binary);
  std::array<char, 512> start{};
  file.read(start.data(), start.size());
  const std::string_view on_disk(start.data(), static_cast<std::size_t>(file.gcount()));
  return on_disk.starts_with(sqlite_magic) && source.peek().starts_with(on_disk);
}

// A path as an SQLite URI.
std::string uri_of(const std::string& path, std::string_view options) {
  std::string uri = "file:";
  for (const char letter : path) {
    const bool is_plain =
        std::isalnum(static_cast<unsigned char>(letter)) != 0 || std::strchr("/._-", letter) != nullptr;
    uri += is_plain ? std::string(1, letter) : fmt::format("%{:02x}", static_cast<unsigned char>(letter));
  }
  return uri + std::string(options);
}

// A temporary file that is gone when the process is.
class Spill {
 public:
  Spill() : path_((fs::temp_directory_path() / "warploom-XXXXXX").string()) {
    const int descriptor = mkstemp(path_.data());
    if (descriptor >= 0) file_ = fdopen(descriptor, "wb");
    if (file_ == nullptr) throw UserError(fmt::format("cannot write a temporary file `{}`", path_), "set TMPDIR");
  }
  Spill(const Spill&) = delete;
  Spill& operator=(const Spill&) = delete;
  ~Spill() {
    close();
    unlink(path_.c_str());
  }
  void write(std::string_view bytes) {
    if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) {
      throw UserError(fmt::format("cannot write the temporary file `{}`: no space left?", path_), "set TMPDIR");
    }
  }
  void close() {
    if (file_ != nullptr) std::fclose(file_);
    file_ = nullptr;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::FILE* file_ = nullptr;
};

}  // namespace

// ---- Rows ---------------------------------------------------------------------------------------------------------

void SqliteRows::Finalise::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

std::string SqliteRows::where() const { return fmt::format("table {}, row {}", table_, row_); }

bool SqliteRows::next() {
  if (statement_ == nullptr) return false;
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_DONE) return false;
  ++row_;
  if (code != SQLITE_ROW) {
    throw UserError(fmt::format("{}: {}: {}", file_, where(), sqlite3_errstr(code)), broken_hint);
  }
  // A row of any table that is read here takes more than 4 bytes; a text, which may be asked for
  // twice, its own length (half of it in UTF-16).
  if (static_cast<std::uint64_t>(row_) > bytes_ / 4 || text_bytes_ / 8 > bytes_) {
    throw UserError(fmt::format("{}: {}: more rows or text than the file has bytes", file_, where()), broken_hint);
  }
  return true;
}

bool SqliteRows::is_null(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL; }

std::optional<std::int64_t> SqliteRows::integer(int column) const {
  const int type = sqlite3_column_type(statement_.get(), column);
  if (type == SQLITE_INTEGER) return sqlite3_column_int64(statement_.get(), column);
  if (type != SQLITE_TEXT) return std::nullopt;
  const std::string_view written = text(column);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(written.data(), written.data() + written.size(), value);
  if (error != std::errc() || end != written.data() + written.size()) return std::nullopt;
  return value;
}

std::string_view SqliteRows::text(int column) const {
  if (sqlite3_column_type(statement_.get(), column) != SQLITE_TEXT) return {};
  const auto* start = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (start == nullptr) return {};
  text_bytes_ += static_cast<std::uint64_t>(std::max(0, sqlite3_column_bytes(statement_.get(), column)));
  return {start, static_cast<std::size_t>(std::max(0, sqlite3_column_bytes(statement_.get(), column)))};
}

std::string SqliteRows::number_text(int column) const {
  switch (sqlite3_column_type(statement_.get(), column)) {
    case SQLITE_INTEGER:
      return std::to_string(sqlite3_column_int64(statement_.get(), column));
    case SQLITE_FLOAT:
      return fmt::format("{:.15g}", sqlite3_column_double(statement_.get(), column));
    case SQLITE_TEXT:
      return std::string(text(column));
    default:
      return {};
  }
}

// ---- Database -----------------------------------------------------------------------------------------------------

void SqliteDatabase::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

SqliteDatabase::SqliteDatabase(SqliteDatabase&&) noexcept = default;
SqliteDatabase& SqliteDatabase::operator=(SqliteDatabase&&) noexcept = default;
SqliteDatabase::~SqliteDatabase() = default;

SqliteDatabase::SqliteDatabase(const std::string& path) : SqliteDatabase(*open_bytes(path)) {}

SqliteDatabase::SqliteDatabase(ByteSource& source) : file_(source.name()) {
  if (!source.peek().starts_with(sqlite_magic)) fail("this is no SQLite file");
  if (is_on_disk(source)) {
    std::error_code error;
    const bool has_log = fs::exists(file_ + "-wal", error) && fs::file_size(file_ + "-wal", error) > 0;
    bytes_ = source.bytes_in_all();
    open(file_, !has_log);
    prepare();
    return;
  }
  std::string content;
  while (content.size() <= held_in_memory) {
    const std::size_t before = content.size();
    content.resize(before + piece);
    content.resize(before + fill(source, std::span(content).subspan(before)));
    if (content.size() < before + piece) break;
  }
  bytes_ = content.size();
  if (content.size() <= held_in_memory) {
    open_in_memory(content);
    prepare();
  } else {
    open_spilled(source, content);
  }
}

void SqliteDatabase::open(const std::string& path, bool is_immutable) {
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(uri_of(path, is_immutable ? "?immutable=1" : "").c_str(), &opened,
                                   SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
  database_.reset(opened);
  if (code != SQLITE_OK) fail(sqlite3_errstr(code));
}

void SqliteDatabase::open_in_memory(std::string_view content) {
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(":memory:", &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  database_.reset(opened);
  if (code != SQLITE_OK) fail(sqlite3_errstr(code));
  auto* copy = static_cast<unsigned char*>(sqlite3_malloc64(content.size() + 1));
  if (copy == nullptr) fail("no memory left to hold it");
  std::memcpy(copy, content.data(), content.size());
  // Bytes 18 and 19: versions that write and read. 2 is a write-ahead log, which memory does not have.
  for (std::size_t place = 18; place < 20 && place < content.size(); ++place) {
    if (copy[place] == 2) copy[place] = 1;
  }
  const auto size = static_cast<sqlite3_int64>(content.size());
  const int taken = sqlite3_deserialize(database_.get(), "main", copy, size, size,
                                        SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY);
  if (taken != SQLITE_OK) fail(sqlite3_errstr(taken));
}

void SqliteDatabase::open_spilled(ByteSource& source, std::string_view so_far) {
  Spill spill;
  spill.write(so_far);
  std::vector<char> buffer(piece);
  while (const std::size_t count = fill(source, buffer)) {
    bytes_ += count;
    if (bytes_ > spilled_at_most) fail("it is longer than 64 GiB when decompressed: decompress it to a file first");
    spill.write({buffer.data(), count});
  }
  spill.close();
  open(spill.path(), true);
  prepare();  // opens the file itself, whose name may then go
}

void SqliteDatabase::prepare() {
  sqlite3* database = database_.get();
  sqlite3_limit(database, SQLITE_LIMIT_LENGTH, longest_cell);
  sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_exec(database, "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0", nullptr, nullptr, nullptr);

  SqliteRows tables(statement("SELECT name, sql FROM sqlite_master WHERE type = 'table'"), file_, "sqlite_master",
                    bytes_);
  std::vector<std::string> names;
  while (tables.next()) {
    const std::string_view made_by = tables.text(1).substr(0, 64);
    std::string upper(made_by);
    std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return std::toupper(c); });
    if (upper.find("VIRTUAL") == std::string::npos) names.emplace_back(tables.text(0));
  }
  for (const auto& name : names) {
    // table_info lists neither hidden nor generated columns: nothing of the file is computed.
    SqliteRows info(statement("SELECT name FROM pragma_table_info(?1)"), file_, name, 1ULL << 40U);
    sqlite3_bind_text(info.statement_.get(), 1, name.c_str(), static_cast<int>(name.size()), SQLITE_TRANSIENT);
    auto& columns = columns_[name];
    while (info.next()) columns.emplace(info.text(0));
  }
}

bool SqliteDatabase::has(std::string_view table, std::string_view column) const {
  const auto place = columns_.find(std::string(table));
  return place != columns_.end() && place->second.contains(std::string(column));
}

SqliteRows SqliteDatabase::rows(std::string_view table, std::initializer_list<std::string_view> columns,
                                std::string_view condition) const {
  if (!has(table)) return {nullptr, file_, std::string(table), bytes_};
  std::string sql = "SELECT ";
  for (const auto column : columns) {
    if (sql.size() > 7) sql += ", ";
    sql += has(table, column) ? fmt::format("\"{}\"", column) : "NULL";
  }
  sql += fmt::format(" FROM \"{}\"", table);
  if (!condition.empty()) sql += fmt::format(" WHERE {}", condition);
  return {statement(sql), file_, std::string(table), bytes_};
}

std::unique_ptr<sqlite3_stmt, SqliteRows::Finalise> SqliteDatabase::statement(const std::string& sql) const {
  sqlite3_stmt* prepared = nullptr;
  const int code = sqlite3_prepare_v2(database_.get(), sql.c_str(), -1, &prepared, nullptr);
  std::unique_ptr<sqlite3_stmt, SqliteRows::Finalise> owned(prepared);
  if (code != SQLITE_OK) fail(sqlite3_errmsg(database_.get()));
  return owned;
}

void SqliteDatabase::fail(std::string_view what) const {
  throw UserError(fmt::format("{}: cannot be read as an SQLite database: {}", file_, what), broken_hint);
}

}  // namespace warploom
