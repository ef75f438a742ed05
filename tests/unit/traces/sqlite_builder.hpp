// SPDX-License-Identifier: Apache-2.0
// SQLite databases made in memory from statements, as the bytes of a file.
#pragma once

#include <sqlite3.h>

#include <stdexcept>
#include <string>

namespace warploom::testing {

inline std::string sqlite_file(const std::string& statements) {
  sqlite3* database = nullptr;
  if (sqlite3_open(":memory:", &database) != SQLITE_OK) throw std::runtime_error("no SQLite");
  const int code = sqlite3_exec(database, ("PRAGMA page_size=512;" + statements).c_str(), nullptr, nullptr, nullptr);
  const std::string problem = sqlite3_errmsg(database);
  sqlite3_int64 size = 0;
  unsigned char* bytes = sqlite3_serialize(database, "main", &size, 0);
  std::string file(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  sqlite3_free(bytes);
  sqlite3_close(database);
  if (code != SQLITE_OK) throw std::runtime_error(problem);
  return file;
}

}  // namespace warploom::testing
