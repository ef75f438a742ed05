// SPDX-License-Identifier: Apache-2.0
// `warploom compare EXPERIMENT TRACE...`: a generated step laid on a captured one, operation by operation.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "bindings/cli/command.hpp"
#include "bindings/cli/progress.hpp"
#include "bindings/cli/trace_arguments.hpp"
#include "bindings/report/overlay_report.hpp"
#include "sim/core/errors.hpp"
#include "workloads/experiment.hpp"

namespace warploom {

namespace {

struct CompareArguments {
  std::string experiment;
  TraceArguments traces;
  std::vector<std::string> overrides;
  OverlayOptions overlay;
  bool as_json = false;
};

void compare(const CompareArguments& arguments, Session& session) {
  const std::string path = chosen_experiment("compare", arguments.experiment);
  if (arguments.traces.paths.empty()) {
    throw UserError("`warploom compare` needs traces of the same step",
                    "such as `warploom compare my.yaml rank*.pt.trace.json.gz`");
  }
  // What is wrong with the experiment is said before long files are read.
  const Experiment experiment = Experiment::load(path, arguments.overrides);
  const CapturedRun captured = read_run(arguments.traces, session);
  RunResult generated;
  {
    Progress progress(session.console, ProgressMode::automatic);
    RunOptions options;
    options.progress = [&progress](std::size_t done, std::size_t all) { progress(done, all); };
    generated = experiment.run(options);
  }
  Overlay overlay = lay_over(captured, generated.program, generated.timeline, experiment.name(), arguments.overlay);
  if (arguments.as_json) return session.console.print(overlay_to_json(overlay) + "\n");
  session.console.print(overlay_to_text(overlay));
}

}  // namespace

void add_compare(CLI::App& root, Action& action) {
  CLI::App* command = add_command(
      root, "compare", "lay a generated step on a captured one: what matches, what is missing, where times differ",
      {"warploom compare my.yaml rank0.pt.trace.json.gz", "warploom compare my.yaml traces/ --step 7",
       "warploom compare my.yaml traces/ --json | jq .only_in_trace"});
  const auto arguments = std::make_shared<CompareArguments>();
  add_experiment(command, arguments->experiment);
  command
      ->add_option("TRACE", arguments->traces.paths,
                   "trace files and folders of them, one capture a rank, of the experiment's step")
      ->type_name(trace_label)
      ->expected(0, 100'000);
  add_integer(
      command, "--step", [arguments](std::int64_t value) { arguments->overlay.step = value; },
      "the number of the captured step (ProfilerStep#N); default: the one of median length");
  add_overrides(command, arguments->overrides, "layout.data=64");
  add_flag(command, "--json", arguments->as_json, "print one JSON object instead of text");
  add_trace_reading(command, arguments->traces);
  command->callback([&action, arguments] { action = [arguments](Session& session) { compare(*arguments, session); }; });
}

}  // namespace warploom
