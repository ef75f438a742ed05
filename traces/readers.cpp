// SPDX-License-Identifier: Apache-2.0
// Files, folders and archives in, captures by rank out.
#include "traces/readers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <regex>
#include <set>
#include <thread>

#include "sim/core/errors.hpp"
#include "sim/core/parallel.hpp"
#include "sim/core/text.hpp"
#include "traces/ascend_reader.hpp"
#include "traces/chakra_capture.hpp"
#include "traces/classify.hpp"
#include "traces/execution_trace.hpp"
#include "traces/kineto_reader.hpp"
#include "traces/link.hpp"
#include "traces/nsight_reader.hpp"
#include "traces/xplane_reader.hpp"

namespace warploom {

namespace {

namespace fs = std::filesystem;

using Readers = std::vector<std::unique_ptr<const TraceReader>>;

// "rank-3.json", "megatron_kineto_3.json", "worker0_step_12.1694.pt.trace.json", "trace.3.json".
std::optional<std::int64_t> rank_in_name(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  static const std::regex named("(?:rank|worker)[-_.]?([0-9]{1,7})(?![0-9])", std::regex::icase);
  static const std::regex last("[-_.]([0-9]{1,7})(?:\\.pt)?(?:\\.trace)?\\.json(?:\\.gz)?$");
  std::smatch match;
  if (std::regex_search(name, match, named) || std::regex_search(name, match, last)) return std::stoll(match[1].str());
  return std::nullopt;
}

std::string formats(const Readers& readers) {
  std::vector<std::string> names;
  for (const auto& reader : readers) names.emplace_back(reader->name());
  return join(names);
}

template <class Item>
void append(std::vector<Item>& all, std::vector<Item> more) {
  std::move(more.begin(), more.end(), std::back_inserter(all));
}

// What stands in one file, or in one folder that is a trace as a whole.
struct Found {
  std::vector<Capture> captures;
  std::vector<ExecutionTrace> executions;
  std::vector<std::string> skipped;
};

class FileReading {
 public:
  FileReading(const Readers& readers, const ReadOptions& options, Found& found)
      : readers_(readers), options_(options), found_(found) {}

  void take(const std::string& path, bool must_be_one) {
    const auto source = open_bytes(path);
    if (!for_each_member(*source, [this](ByteSource& member) { take_source(member, false); })) {
      take_source(*source, must_be_one);
    } else if (must_be_one && found_.captures.empty() && found_.executions.empty()) {
      throw UserError(fmt::format("{}: no trace in this archive", path), "formats read: " + formats(readers_));
    }
  }

 private:
  void take_source(ByteSource& source, bool must_be_one) {
    const std::string_view first = source.peek();
    if (first.starts_with("\x1f\x8b")) return take_source(*decompressed(source), must_be_one);
    for (const auto& reader : readers_) {
      if (reader->recognises(first)) return append(found_.captures, reader->read(source, options_));
    }
    if (is_execution_trace(first)) {
      found_.executions.push_back(read_execution_trace(source, options_));
      return;
    }
    if (must_be_one) {
      throw UserError(fmt::format("{}: {}", source.name(),
                                  first.empty() ? "the file is empty" : "this is no trace that is known here"),
                      "formats read, by content: " + formats(readers_));
    }
    found_.skipped.push_back(source.name());
  }

  const Readers& readers_;
  const ReadOptions& options_;
  Found& found_;
};

class Reading {
 public:
  explicit Reading(const ReadOptions& options) : options_(options), readers_(trace_readers()) {}

  // Files are independent of each other; what they hold is put together in the order of the paths.
  void read(std::span<const std::string> paths) {
    std::vector<std::size_t> ends;
    std::vector<bool> is_searched;
    for (const auto& path : paths) {
      is_searched.push_back(list(path));
      ends.push_back(jobs_.size());
    }
    std::vector<Found> found(jobs_.size());
    const auto caller = std::this_thread::get_id();
    ReadOptions options = options_;
    // Who asked for progress expects to be called where it called from.
    options.progress = [&](std::uint64_t done, std::uint64_t all) {
      if (options_.progress && std::this_thread::get_id() == caller) options_.progress(done, all);
    };
    in_parallel(jobs_.size(), [&](std::size_t i) { run(jobs_[i], options, found[i]); });
    std::size_t first = 0;
    for (std::size_t i = 0; i < paths.size(); ++i) {
      const bool any = keep(std::span(found).subspan(first, ends[i] - first));
      if (is_searched[i] && !any) {
        throw UserError(fmt::format("{}: no trace in this folder ({} other files)", paths[i], result_.skipped.size()),
                        "formats read: " + formats(readers_));
      }
      first = ends[i];
    }
  }

  ReadTraces finish() {
    if (result_.captures.empty() && !executions_.empty()) {
      throw UserError(fmt::format("{}: an execution trace has no times", executions_.front().file),
                      "give the Kineto trace of the same step beside it");
    }
    auto& captures = result_.captures;
    in_parallel(captures.size(), [&](std::size_t i) { link_launches(captures[i]); });
    take_ranks_from_names();
    for (const auto& execution : executions_) take_execution(execution);
    in_parallel(captures.size(), [&](std::size_t i) { classify(captures[i]); });
    std::stable_sort(captures.begin(), captures.end(), [](const Capture& a, const Capture& b) {
      if (known_rank(a) != known_rank(b)) return known_rank(a) < known_rank(b);
      return a.file < b.file;
    });
    return std::move(result_);
  }

 private:
  struct Job {
    std::string path;
    const TraceReader* folder_reader = nullptr;  // of a folder that is one trace; null: a file
    bool must_be_one = false;                    // it was named itself
    bool is_skipped = false;                     // a pipe, a device
  };

  // A number in a name is a rank where it tells several files apart.
  void take_ranks_from_names() {
    if (result_.captures.size() < 2) return;
    std::set<std::int64_t> known;
    for (const auto& capture : result_.captures) {
      const auto rank = capture.rank ? capture.rank : rank_in_name(capture.file);
      if (rank && !known.insert(*rank).second) return;
    }
    for (auto& capture : result_.captures) {
      if (!capture.rank) capture.rank_in_name = rank_in_name(capture.file);
    }
  }

  // Beside the one Kineto trace of its rank; the only one of each belong together.
  void take_execution(const ExecutionTrace& execution) {
    const auto rank = rank_in_name(execution.file);
    Capture* partner = nullptr;
    for (auto& capture : result_.captures) {
      const auto known = capture.rank ? capture.rank : capture.rank_in_name;
      const bool is_alone = executions_.size() == 1 && result_.captures.size() == 1;
      if (capture.format != "kineto" || (!is_alone && (!rank || known != rank))) continue;
      if (partner != nullptr) return result_.skipped.push_back(execution.file);  // which of them?
      partner = &capture;
    }
    const std::int64_t joined = partner == nullptr ? 0 : add_execution_trace(*partner, execution);
    if (joined == 0) return result_.skipped.push_back(execution.file);
    partner->repairs.add(execution.repairs);
    partner->facts.insert_or_assign("execution_trace", execution.file);
    partner->facts.insert_or_assign("execution_trace_operators", std::to_string(joined));
  }

  // ---- What there is to read ---------------------------------------------------------------------------------------

  // True for a folder of files, of which one at least has to be a trace.
  bool list(const std::string& path) {
    if (!fs::is_directory(path)) {
      jobs_.push_back({path, nullptr, true});
      return false;
    }
    if (list_as_folder(path)) return false;
    std::vector<std::string> files;
    std::vector<std::string> folders;
    for (const auto& entry : fs::directory_iterator(path, fs::directory_options::skip_permission_denied)) {
      if (entry.is_directory()) {
        folders.push_back(entry.path().string());
      } else if (entry.is_regular_file()) {
        files.push_back(entry.path().string());
      } else {
        skip(entry.path().string());
      }
    }
    std::sort(files.begin(), files.end());
    std::sort(folders.begin(), folders.end());
    for (const auto& folder : folders) {
      if (!list_as_folder(folder)) list_nested(folder);
    }
    for (const auto& file : files) jobs_.push_back({file});
    return true;
  }

  bool list_as_folder(const std::string& path) {
    for (const auto& reader : readers_) {
      if (!reader->recognises_folder(path)) continue;
      jobs_.push_back({path, reader.get()});
      return true;
    }
    return false;
  }

  // Folders of folders of ranks: one level down, so that a home directory is not searched.
  void list_nested(const std::string& folder) {
    std::vector<std::string> inner;
    for (const auto& entry : fs::directory_iterator(folder, fs::directory_options::skip_permission_denied)) {
      inner.push_back(entry.path().string());
    }
    std::sort(inner.begin(), inner.end());
    for (const auto& path : inner) {
      if (fs::is_regular_file(path)) {
        jobs_.push_back({path});
      } else if (!fs::is_directory(path) || !list_as_folder(path)) {
        skip(path);
      }
    }
  }

  void skip(const std::string& path) { jobs_.push_back({path, nullptr, false, true}); }

  // ---- Reading it --------------------------------------------------------------------------------------------------

  void run(const Job& job, const ReadOptions& options, Found& found) const {
    if (job.is_skipped) {
      found.skipped.push_back(job.path);
    } else if (job.folder_reader != nullptr) {
      found.captures = job.folder_reader->read_folder(job.path, options);
    } else {
      FileReading(readers_, options, found).take(job.path, job.must_be_one);
    }
  }

  bool keep(std::span<Found> all) {
    bool any = false;
    for (auto& found : all) {
      any = any || !found.captures.empty() || !found.executions.empty();
      append(result_.captures, std::move(found.captures));
      append(executions_, std::move(found.executions));
      append(result_.skipped, std::move(found.skipped));
    }
    return any;
  }

  const ReadOptions& options_;
  Readers readers_;
  std::vector<Job> jobs_;
  ReadTraces result_;
  std::vector<ExecutionTrace> executions_;
};

}  // namespace

std::vector<Capture> TraceReader::read_folder(const fs::path& folder, const ReadOptions& /*options*/) const {
  throw UserError(fmt::format("{}: the format `{}` is no folder", folder.string(), name()));
}

Readers trace_readers() {
  Readers readers;
  readers.push_back(make_chakra_reader());  // before Kineto: JSON with a workload_graph
  readers.push_back(make_ascend_reader());
  readers.push_back(make_nsight_reader());
  readers.push_back(make_xplane_reader());
  readers.push_back(make_kineto_reader());
  return readers;
}

bool looks_like_trace(const std::string& file) {
  const auto source = open_bytes(file);
  const std::string_view first = source->peek();
  if (first.starts_with("\x1f\x8b") || is_execution_trace(first)) return true;
  const Readers readers = trace_readers();
  return std::any_of(readers.begin(), readers.end(), [&](const auto& reader) { return reader->recognises(first); });
}

ReadTraces read_traces(std::span<const std::string> paths, const ReadOptions& options) {
  Reading reading(options);
  reading.read(paths);
  return reading.finish();
}

}  // namespace warploom
