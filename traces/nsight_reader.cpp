// SPDX-License-Identifier: Apache-2.0
// Schemas 2.9 (2022.2) to 3.25 (2026.2), as measured on such files; the tables are described in NVIDIA's "Nsight
// Systems User Guide", SQLite schema reference. Times are whole nanoseconds since the session's start, whose epoch is
// TARGET_INFO_SESSION_START_TIME. A table is absent when nothing of its kind was captured, a column when the version
// did not have it. Correlation ids are those of a process, not of the report: two processes share hundreds of them.
#include "traces/nsight_reader.hpp"

#include <fmt/format.h>

#include "sim/core/errors.hpp"
#include "traces/ascend_database.hpp"
#include "traces/ascend_reader.hpp"
#include "traces/nsight_report.hpp"
#include "traces/sqlite_database.hpp"

namespace warploom {

namespace {

class NsightReader final : public TraceReader {
 public:
  std::string_view name() const override { return "nsight"; }
  std::string_view meaning() const override { return "SQLite exports of Nsight Systems (nsys export --type sqlite)"; }
  bool recognises(std::string_view first_bytes) const override { return first_bytes.starts_with(sqlite_magic); }
  std::vector<Capture> read(ByteSource& source, const ReadOptions& options) const override {
    const SqliteDatabase database(source);
    if (ascend::is_profile(database)) return read_ascend_database(database, options);
    const bool is_report =
        database.has("StringIds") && (database.has("META_DATA_EXPORT") || database.has("EXPORT_META_DATA") ||
                                      database.has("TARGET_INFO_SESSION_START_TIME") ||
                                      database.has(nsight::kernel_table) || database.has(nsight::runtime_table));
    if (!is_report) {
      throw UserError(fmt::format("{}: an SQLite database that is neither an export of Nsight Systems nor of Ascend's "
                                  "profiler (it has {} tables, and not `StringIds`, `{}` or `TASK`)",
                                  database.file(), database.table_count(), nsight::kernel_table),
                      "export a report with `nsys export --type sqlite report.nsys-rep`");
    }
    return nsight::Report(database, options).read();
  }
};

}  // namespace

std::unique_ptr<const TraceReader> make_nsight_reader() { return std::make_unique<NsightReader>(); }

}  // namespace warploom
