// SPDX-License-Identifier: Apache-2.0
// `<host>_<process>_<time>_ascend_pt/` holds profiler_info_<rank>.json, profiler_metadata.json and
// ASCEND_PROFILER_OUTPUT/ with either trace_view.json and tables (text form) or ascend_pytorch_profiler_<rank>.db and
// analysis.db (database form); where both are there the text form is read, which has the finer times.
// Sources: Ascend/pytorch (torch_npu.profiler) and mstt's msprof_analyze, as read and measured.
#include "traces/ascend_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "sim/core/errors.hpp"
#include "traces/ascend_capture.hpp"
#include "traces/ascend_database.hpp"
#include "traces/ascend_tables.hpp"
#include "traces/ascend_trace_view.hpp"

namespace warploom {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view output = "ASCEND_PROFILER_OUTPUT";

// The file of that name, or the same gzipped.
std::optional<fs::path> file_in(const fs::path& folder, const std::string& name) {
  std::error_code error;
  for (const auto* suffix : {"", ".gz"}) {
    const fs::path path = folder / (name + suffix);
    if (fs::is_regular_file(path, error)) return path;
  }
  return std::nullopt;
}

// "<start><digits><end>", the same gzipped; the first by name, and the digits.
struct Numbered {
  fs::path path;
  std::int64_t number = 0;
};
std::optional<Numbered> numbered_in(const fs::path& folder, const std::string& start, const std::string& end) {
  std::vector<Numbered> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    std::string name = entry.path().filename().string();
    if (name.ends_with(".gz")) name.resize(name.size() - 3);
    if (!name.starts_with(start) || !name.ends_with(end) || name.size() <= start.size() + end.size()) continue;
    const std::string digits = name.substr(start.size(), name.size() - start.size() - end.size());
    if (digits.size() > 7 || digits.find_first_not_of("0123456789") != std::string::npos) continue;
    found.push_back({entry.path(), std::stoll(digits)});
  }
  if (found.empty()) return std::nullopt;
  return *std::min_element(found.begin(), found.end(),
                           [](const Numbered& a, const Numbered& b) { return a.number < b.number; });
}

using Table = void (*)(ByteSource&, ascend::Builder&);

void read_if_there(const fs::path& folder, const std::string& name, ascend::Builder& builder, Table read) {
  if (const auto path = file_in(folder, name)) read(*open_bytes(path->string()), builder);
}

std::vector<Capture> one(Capture capture) {
  std::vector<Capture> captures;
  captures.push_back(std::move(capture));
  return captures;
}

// Where the profiler's output stands: below the folder, or the folder itself.
fs::path output_of(const fs::path& folder) {
  std::error_code error;
  return fs::is_directory(folder / output, error) ? folder / output : folder;
}

void read_text_form(const fs::path& trace, const fs::path& tables, ascend::Builder& builder,
                    const ReadOptions& options) {
  ascend::read_trace_view(*open_bytes(trace.string()), builder, options);
  read_if_there(tables, "kernel_details.csv", builder, ascend::read_kernel_details);
  read_if_there(tables, "communication.json", builder, ascend::read_communication);
  read_if_there(tables, "communication_matrix.json", builder, ascend::read_communication_matrix);
  read_if_there(tables, "step_trace_time.csv", builder, ascend::read_step_times);
}

class AscendReader final : public TraceReader {
 public:
  std::string_view name() const override { return "ascend"; }
  std::string_view meaning() const override { return "Ascend profiler folders (*_ascend_pt), their files alone too"; }
  bool recognises(std::string_view first_bytes) const override { return ascend::is_trace_view(first_bytes); }

  std::vector<Capture> read(ByteSource& source, const ReadOptions& options) const override {
    ascend::Builder builder(source.name(), options.strict);
    builder.capture().base_time = 0;
    ascend::read_trace_view(source, builder, options);
    return one(builder.finish());
  }

  bool recognises_folder(const fs::path& folder) const override {
    std::error_code error;
    const std::string own = (folder.filename().empty() ? folder.parent_path() : folder).filename().string();
    if (own.ends_with("_ascend_pt") || own == output) return true;
    return fs::is_directory(folder / output, error);
  }

  std::vector<Capture> read_folder(const fs::path& folder, const ReadOptions& options) const override {
    const fs::path tables = output_of(folder);
    const fs::path above = tables == folder ? folder.parent_path() : folder;
    ascend::Builder builder(folder.string(), options.strict);
    builder.capture().base_time = 0;
    const auto trace = file_in(tables, "trace_view.json");
    auto database = numbered_in(tables, "ascend_pytorch_profiler_", ".db");
    if (!database) database = numbered_in(tables, "msprof_", ".db");
    if (trace) {
      read_text_form(*trace, tables, builder, options);
    } else if (database) {
      ascend::read_profile(SqliteDatabase(database->path.string()), builder);
      if (const auto path = file_in(tables, "analysis.db")) {
        ascend::read_analysis(SqliteDatabase(path->string()), builder);
      }
    } else {
      throw UserError(fmt::format("{}: neither trace_view.json nor ascend_pytorch_profiler_<rank>.db in `{}`",
                                  folder.string(), tables.string()),
                      "the profile was not analysed: torch_npu.profiler.profiler.analyse(\"<folder>\")");
    }
    if (const auto info = numbered_in(above, "profiler_info_", ".json")) {
      ascend::read_profiler_info(*open_bytes(info->path.string()), builder);
      builder.capture().rank = info->number;  // the file's name is what the profiler's own tools go by
    }
    read_if_there(above, "profiler_metadata.json", builder, ascend::read_profiler_metadata);
    return one(builder.finish());
  }
};

}  // namespace

std::unique_ptr<const TraceReader> make_ascend_reader() { return std::make_unique<AscendReader>(); }

std::vector<Capture> read_ascend_database(const SqliteDatabase& database, const ReadOptions& options) {
  ascend::Builder builder(database.file(), options.strict);
  builder.capture().base_time = 0;
  ascend::read_profile(database, builder);
  return one(builder.finish());
}

}  // namespace warploom
