// SPDX-License-Identifier: Apache-2.0
// `warploom run`: simulate an experiment, print the report, leave files.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "bindings/cli/command.hpp"
#include "bindings/cli/detailed_arguments.hpp"
#include "bindings/cli/output_folder.hpp"
#include "bindings/cli/progress.hpp"
#include "bindings/report/report_json.hpp"
#include "traces/perfetto_writer.hpp"
#include "workloads/experiment.hpp"

namespace warploom {

namespace {

struct RunArguments {
  std::string experiment;
  std::vector<std::string> overrides;
  std::string out;
  bool as_json = false;
  bool unfold = false;
  bool no_timeline = false;
  bool quiet = false;
  bool progress = false;
  bool no_cache = false;
  std::string ideal;

  ProgressMode progress_mode() const {
    if (progress) return ProgressMode::always;
    return quiet ? ProgressMode::none : ProgressMode::automatic;
  }
};

// The files that --out leaves.
constexpr const char* report_json = "report.json";
constexpr const char* report_text = "report.txt";
constexpr const char* resolved_yaml = "resolved.yaml";
constexpr const char* timeline_trace = "timeline.perfetto-trace";

std::string where_the_files_are(const OutputFolder& folder, const std::string& path) {
  std::string text = fmt::format("\nWritten to {}\n", path);
  for (const std::string& name : folder.written()) {
    std::string_view meaning = "this text";
    if (name == report_json) meaning = "the numbers, for programs";
    if (name == resolved_yaml) meaning = "the whole experiment; every line says where it came from";
    if (name == timeline_trace) meaning = "the timeline: open it at https://ui.perfetto.dev";
    text += fmt::format("  {:<24} {}\n", name, meaning);
  }
  return text;
}

RunResult simulate(const Experiment& experiment, const RunArguments& arguments, Session& session) {
  Progress progress(session.console, arguments.progress_mode());
  RunOptions options;
  options.unfold = arguments.unfold;
  options.progress = [&progress](std::size_t done, std::size_t all) { progress(done, all); };
  return experiment.run(options);
}

void run(const RunArguments& arguments, Session& session) {
  const std::string path = chosen_experiment("run", arguments.experiment);
  ExperimentOptions how;
  how.uses_cache = !arguments.no_cache;
  const auto ideals = arguments.ideal.empty() ? std::vector<Ideal>() : parse_ideals(arguments.ideal);
  std::optional<IdealGain> gain;
  if (!ideals.empty()) {
    const Experiment real = Experiment::load(path, arguments.overrides, how);
    gain = {in_words(ideals), simulate(real, arguments, session).report.step_time};
  }
  how.ideals = ideals;
  const Experiment experiment = Experiment::load(path, arguments.overrides, how);
  std::optional<OutputFolder> folder;  // before the simulation: a place that takes no files is found out first
  if (!arguments.out.empty()) {
    folder.emplace(arguments.out, std::vector<std::string>{report_json, report_text, resolved_yaml, timeline_trace},
                   session.interrupts);
  }
  const RunResult result = simulate(experiment, arguments, session);
  std::string text = to_text(result.report, result.program);
  if (gain) text += "\n" + to_text(*gain, result.report);
  const std::string json = to_json(result.report, 2, gain) + "\n";
  if (folder) {
    folder->write(report_text, text);
    folder->write(report_json, json);
    folder->write(resolved_yaml, explain(experiment.resolved()));
    if (!arguments.no_timeline) {
      folder->write(timeline_trace, [&](std::ostream& out) { write_perfetto(result.program, result.timeline, out); });
    }
    folder->commit();
  }
  // Files first: who stops reading here still has them.
  if (arguments.as_json) return session.console.print(json);
  if (arguments.quiet) return;
  session.console.print(text);
  if (folder) session.console.print(where_the_files_are(*folder, arguments.out));
}

}  // namespace

void add_run(CLI::App& root, Action& action) {
  CLI::App* command =
      add_command(root, "run", "simulate an experiment and say where the time goes",
                  {"warploom run llama3_405b_16k_h100", "warploom run my.yaml --set layout.data=64 --out results",
                   "warploom run my.yaml --json | jq .step_time_s"});
  const auto arguments = std::make_shared<RunArguments>();
  add_experiment(command, arguments->experiment);
  add_flag(command, "--json", arguments->as_json, "print one JSON object instead of text");
  command
      ->add_option("--out", arguments->out,
                   "write report.txt, report.json, resolved.yaml and a timeline for ui.perfetto.dev into this folder")
      ->type_name(folder_label);
  add_overrides(command, arguments->overrides, "layout.data=64");
  add_ideal(command, arguments->ideal);
  add_no_cache(command, arguments->no_cache);
  add_flag(command, "--unfold", arguments->unfold, "give every device its own role: same numbers, more work");
  add_flag(command, "--no-timeline", arguments->no_timeline, "leave the timeline out of --out: it can be large");
  add_flag(command, "--quiet", arguments->quiet, "print no report and no progress");
  add_flag(command, "--progress", arguments->progress, "show progress on standard error from the start");
  command->callback([&action, arguments] { action = [arguments](Session& session) { run(*arguments, session); }; });
}

}  // namespace warploom
