// SPDX-License-Identifier: Apache-2.0
// What commands about traces have in common: which files, how strictly they are read, progress.
#pragma once

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <vector>

#include "bindings/cli/command.hpp"
#include "traces/captured_run.hpp"

namespace warploom {

struct TraceArguments {
  std::vector<std::string> paths;
  std::optional<std::int64_t> step;  // of a ProfilerStep; none: all that was captured
  bool strict = false;
  bool recorded_only = false;
  bool quiet = false;
};

inline constexpr const char* trace_label = "TRACE";

// `--strict` and `--recorded-only`.
void add_trace_reading(CLI::App* command, TraceArguments& arguments);

// True where one of the paths is there and no cluster's file (those are YAML): a folder, or any other file, whose
// reading says so where it is no trace.
bool are_traces(const std::vector<std::string>& paths);

// As recorded, not yet understood.
ReadTraces read_captures(const TraceArguments& arguments, Session& session);
CapturedRun read_run(const TraceArguments& arguments, Session& session);

}  // namespace warploom
