// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes are either a table, whose cells can be asked for and written again, or a UserError; never a
// crash.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "sim/core/csv.hpp"

namespace {

using namespace warploom;

// What was read, written again: must read back the same.
std::string written(CsvReader table) {
  std::string text;
  for (const std::string& column : table.columns()) text += (text.empty() ? "" : ",") + csv_cell(column);
  CsvRow row;
  for (;;) {
    try {
      if (!table.next(row)) return text + "\n";
    } catch (const CsvRowError&) {
      continue;
    }
    text += "\n";
    bool is_first = true;
    for (const std::string& cell : row.cells()) {
      // A row of one blank cell would be a blank line.
      text += (is_first ? "" : ",") + (row.cells().size() == 1 && cell.empty() ? "\"\"" : csv_cell(cell));
      is_first = false;
    }
    for (const std::string& column : table.columns()) {
      try {
        if (row.positive_integer(column) <= 0 || row.positive_number(column) <= 0) std::abort();
      } catch (const CsvRowError& error) {
        if (error.message().empty()) std::abort();
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const CsvLimits limits{.row_bytes = 4096, .columns = 64};
    const std::string once = written(CsvReader::from_text(std::move(text), "fuzz.csv", limits));
    if (written(CsvReader::from_text(once, "again.csv")) != once) std::abort();
  } catch (const UserError& error) {
    if (error.message().empty()) std::abort();
  }
  return 0;
}
