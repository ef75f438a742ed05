// SPDX-License-Identifier: Apache-2.0
// Reading traces for a command.
#include "bindings/cli/trace_arguments.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "bindings/cli/progress.hpp"
#include "traces/step_selection.hpp"

namespace warploom {

namespace {

namespace fs = std::filesystem;

bool is_trace(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return true;
  if (!fs::is_regular_file(path, error)) return false;
  // What cannot be read says so when it is read. Clusters are YAML, and some call their traces so.
  return (!path.ends_with(".yaml") && !path.ends_with(".yml")) || looks_like_trace(path);
}

}  // namespace

void add_trace_reading(CLI::App* command, TraceArguments& arguments) {
  add_flag(command, "--strict", arguments.strict, "what would be repaired in a trace is an error");
  add_flag(command, "--recorded-only", arguments.recorded_only,
           "dependencies between streams and threads only where the trace recorded them: none is inferred");
}

bool are_traces(const std::vector<std::string>& paths) { return std::any_of(paths.begin(), paths.end(), is_trace); }

ReadTraces read_captures(const TraceArguments& arguments, Session& session) {
  Progress progress(session.console, arguments.quiet ? ProgressMode::none : ProgressMode::automatic, "reading",
                    "bytes");
  ReadOptions options;
  options.strict = arguments.strict;
  options.progress = [&progress](std::uint64_t done, std::uint64_t all) { progress(done, all); };
  return read_traces(arguments.paths, options);
}

CapturedRun read_run(const TraceArguments& arguments, Session& session) {
  ReadTraces read = read_captures(arguments, session);
  if (arguments.step) keep_step(read.captures, *arguments.step);
  InferenceOptions inference;
  inference.events = inference.hand_offs = !arguments.recorded_only;
  return understand(std::move(read), inference);
}

}  // namespace warploom
