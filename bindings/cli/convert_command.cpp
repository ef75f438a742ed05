// SPDX-License-Identifier: Apache-2.0
// `warploom convert TRACE... --to FORM --out PATH`: captured traces in another form.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <utility>

#include "bindings/cli/command.hpp"
#include "bindings/cli/output_folder.hpp"
#include "bindings/cli/progress.hpp"
#include "bindings/cli/trace_arguments.hpp"
#include "sim/core/errors.hpp"
#include "traces/chakra_writer.hpp"
#include "traces/convert.hpp"
#include "traces/convert_chakra.hpp"
#include "traces/convert_timeline.hpp"

namespace warploom {

namespace {

namespace fs = std::filesystem;

struct ConvertArguments {
  TraceArguments traces;
  std::string to;
  std::string out;
};

// A file's name and what writes it.
using OutputFile = std::pair<std::string, std::function<void(std::ostream&)>>;

// The file below `path` (or it itself) that `output` is, whatever its spelling; empty: none.
std::string same_file(const std::string& path, const fs::path& output, const std::vector<std::string>& skipped) {
  std::error_code error;
  const auto is_read = [&](const std::string& file) {
    return fs::equivalent(file, output, error) && std::find(skipped.begin(), skipped.end(), file) == skipped.end();
  };
  if (!fs::is_directory(path, error)) return is_read(path) ? path : std::string();
  for (const auto& entry :
       fs::recursive_directory_iterator(path, fs::directory_options::skip_permission_denied, error)) {
    if (is_read(entry.path().string())) return entry.path().string();
  }
  return {};
}

// `skipped`: files in the folders that are no traces; those may be written over, as an earlier conversion's may.
void refuse_to_overwrite_traces(const ConvertArguments& arguments, const fs::path& output,
                                const std::vector<std::string>& skipped) {
  std::error_code error;
  if (!fs::exists(output, error)) return;
  for (const auto& path : arguments.traces.paths) {
    const std::string trace = same_file(path, output, skipped);
    if (trace.empty()) continue;
    throw UserError(fmt::format("`--out {}` would write over {}, a trace that is read", arguments.out, trace),
                    "give another name or folder");
  }
}

void write_files(const ConvertArguments& arguments, const std::vector<OutputFile>& files,
                 const std::vector<std::string>& skipped, const std::vector<std::string>& notes, Session& session) {
  const fs::path folder = fs::path(arguments.out).parent_path();
  std::vector<std::string> names;
  for (const auto& [name, write] : files) {
    refuse_to_overwrite_traces(arguments, folder / name, skipped);
    names.push_back(name);
  }
  OutputFolder output(folder.empty() ? "." : folder.string(), names, session.interrupts);
  for (const auto& [name, write] : files) output.write(name, write);
  output.commit();
  std::string text = fmt::format("Written: {}", (folder / names.front()).string());
  if (names.size() > 1) text += fmt::format(" and {} more, to {}", names.size() - 1, names.back());
  text += '\n';
  for (const auto& note : notes) text += fmt::format("  {}\n", note);
  session.console.print(text);
}

std::string last_part(const ConvertArguments& arguments) {
  const std::string name = fs::path(arguments.out).filename().string();
  if (name.empty() || name == "." || name == ".." || fs::is_directory(arguments.out)) {
    throw UserError(fmt::format("`--out`: `{}` is a folder", arguments.out),
                    arguments.to.starts_with("chakra")
                        ? "give a folder and a name: results/name becomes results/name.0.et, ..."
                        : "give the name of the file");
  }
  return name;
}

void write_graphs(const ConvertArguments& arguments, const std::vector<ExecutionGraph>& graphs,
                  const std::string& groups, const std::vector<std::string>& skipped,
                  const std::vector<std::string>& notes, Session& session) {
  const std::string prefix = last_part(arguments);
  const bool as_json = arguments.to == "chakra-json";
  std::vector<OutputFile> files;
  for (const auto& graph : graphs) {
    files.emplace_back(fmt::format("{}.{}.{}", prefix, graph.rank.value_or(0), as_json ? "json" : "et"),
                       [&graph, as_json](std::ostream& out) {
                         if (as_json) return write_chakra_json(graph, out);
                         write_chakra(graph, out);
                       });
  }
  if (!groups.empty()) files.emplace_back(prefix + ".json", [&groups](std::ostream& out) { out << groups; });
  write_files(arguments, files, skipped, notes, session);
}

bool convert_chakra_alone(const ConvertArguments& arguments, Session& session) {
  std::vector<ExecutionGraph> graphs;
  {
    Progress progress(session.console, ProgressMode::automatic, "reading", "bytes");
    ReadOptions options;
    options.strict = arguments.traces.strict;
    options.progress = [&progress](std::uint64_t done, std::uint64_t all) { progress(done, all); };
    graphs = read_chakra_alone(arguments.traces.paths, options);
  }
  if (graphs.empty()) return false;
  write_graphs(arguments, graphs, {}, {}, {}, session);
  return true;
}

void convert(const ConvertArguments& arguments, Session& session) {
  if (arguments.traces.paths.empty()) {
    throw UserError("`warploom convert` needs traces",
                    "such as `warploom convert rank*.pt.trace.json.gz --to chakra --out chakra/step`");
  }
  if (arguments.to.empty() || arguments.out.empty()) {
    throw UserError(fmt::format("`warploom convert` needs `{}`", arguments.to.empty() ? "--to" : "--out"),
                    "--to chakra, chakra-json, perfetto or csv; --out where to");
  }
  const std::string name = last_part(arguments);
  const bool to_chakra = arguments.to.starts_with("chakra");
  if (to_chakra && convert_chakra_alone(arguments, session)) return;
  if (to_chakra) {
    const CapturedRun run = read_run(arguments.traces, session);
    const ChakraExport exported = export_chakra(run);
    std::vector<std::string> notes = exported.notes;
    for (const auto& doubt : doubts(run)) notes.push_back(doubt);
    return write_graphs(arguments, exported.graphs, exported.groups, run.skipped, notes, session);
  }
  const ReadTraces read = read_captures(arguments.traces, session);
  const bool as_table = arguments.to == "csv";
  write_files(arguments,
              {{name,
                [&](std::ostream& out) {
                  if (as_table) return write_capture_csv(read.captures, out);
                  write_capture_timeline(read.captures, out);
                }}},
              read.skipped, {}, session);
}

}  // namespace

void add_convert(CLI::App& root, Action& action) {
  CLI::App* command = add_command(root, "convert", "write captured traces in another form: Chakra, Perfetto, a table",
                                  {"warploom convert traces/ --to chakra --out chakra/step",
                                   "warploom convert rank0.pt.trace.json.gz --to perfetto --out rank0.pftrace",
                                   "warploom convert report.sqlite --to csv --out kernels.csv",
                                   "warploom convert step.0.et --to chakra-json --out step"});
  const auto arguments = std::make_shared<ConvertArguments>();
  command
      ->add_option(
          "TRACE", arguments->traces.paths,
          "trace files and folders of them, one capture a rank (Kineto, Chakra, Nsight Systems, XPlane, Ascend)")
      ->type_name(trace_label)
      ->expected(0, 100'000);
  set_choices(command
                  ->add_option("--to", arguments->to,
                               "chakra: PATH.RANK.et, for ASTRA-sim; chakra-json: PATH.RANK.json; perfetto: a timeline "
                               "for ui.perfetto.dev; csv: a line an operation")
                  ->type_name("FORM"),
              {"chakra", "chakra-json", "perfetto", "csv"});
  command->add_option("--out", arguments->out, "the file to write; for chakra what its files' names begin with")
      ->type_name(file_label);
  add_trace_reading(command, arguments->traces);
  command->callback([&action, arguments] { action = [arguments](Session& session) { convert(*arguments, session); }; });
}

}  // namespace warploom
