// SPDX-License-Identifier: Apache-2.0
// `warploom replay TRACE...`: play a captured run as it was, and elsewhere.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "bindings/cli/command.hpp"
#include "bindings/cli/output_folder.hpp"
#include "bindings/cli/progress.hpp"
#include "bindings/cli/replay_astra_sim.hpp"
#include "bindings/cli/trace_arguments.hpp"
#include "bindings/cli/write_experiment.hpp"
#include "bindings/report/replay_report.hpp"
#include "sim/core/errors.hpp"
#include "traces/convert_timeline.hpp"

namespace warploom {

namespace {

struct ReplayArguments {
  TraceArguments traces;
  ReplayQuestion question;
  AstraSimArguments astra_sim;
  WriteExperimentArguments experiment;
  std::string out;
  bool as_json = false;
};

constexpr const char* report_json = "replay.json";
constexpr const char* report_text = "replay.txt";
constexpr const char* timeline_trace = "timeline.perfetto-trace";

// Options that say nothing beside what else was asked.
void refuse_given(const CLI::App& command, std::initializer_list<const char*> options, const std::string& reason,
                  const std::string& hint) {
  for (const char* option : options) {
    if (command.count(option) > 0) throw UserError(fmt::format("`{}` {}", option, reason), hint);
  }
}

void refuse_idle_options(const CLI::App& command, const ReplayArguments& arguments) {
  if (arguments.astra_sim.is_asked) {
    refuse_given(command,
                 {"--on", "--source", "--ranks", "--what-if", "--set", "--out", "--recorded-only", "--write-experiment",
                  "--settings", "--step"},
                 "says nothing of an ASTRA-sim experiment", "its own files say where it runs");
    return;
  }
  refuse_given(command,
               {"--remote-memory", "--comm-group", "--back-end", "--rendezvous", "--comm-scale", "--injection-scale"},
               "belongs to ASTRA-sim experiments", "add `--astra-sim`, or leave it out");
  if (!arguments.experiment.file.empty()) {
    refuse_given(command, {"--on", "--source", "--ranks", "--what-if", "--set", "--out", "--json"},
                 "says nothing of an experiment that is written", "set it in the experiment, or for `warploom run`");
  } else {
    refuse_given(command, {"--settings"}, "is read for an experiment that is written",
                 "add `--write-experiment FILE`, or leave it out");
  }
  if (!arguments.question.asks()) {
    refuse_given(command, {"--source"}, "only matters where something changes",
                 "add `--on CLUSTER` or `--what-if FILE`");
  }
}

// The capture as it was (hosts and launches included) above what is predicted, or replayed, from the same zero.
void write_timelines(const CapturedRun& run, const std::optional<ReplayPrediction>& prediction, std::ostream& out) {
  write_capture_timeline(run.captures, run.captured.origin, out, {1, ", captured"});
  write_perfetto(prediction ? prediction->captured.program : run.captured.program,
                 prediction ? prediction->timeline : run.timeline, out, {2, prediction ? ", predicted" : ", replayed"});
}

void replay(const ReplayArguments& arguments, Session& session) {
  if (arguments.astra_sim.is_asked) {
    return replay_astra_sim(arguments.astra_sim, arguments.traces.paths, arguments.traces.strict, arguments.as_json,
                            session);
  }
  if (arguments.traces.paths.empty()) {
    throw UserError("`warploom replay` needs traces", "such as `warploom replay rank*.pt.trace.json.gz`");
  }
  const auto& question = arguments.question;
  std::optional<OutputFolder> folder;
  if (!arguments.out.empty()) {
    folder.emplace(arguments.out, std::vector<std::string>{report_json, report_text, timeline_trace},
                   session.interrupts);
  }
  const CapturedRun run = read_run(arguments.traces, session);
  require_device_work(run);
  if (!arguments.experiment.file.empty()) return write_experiment(arguments.experiment, run, session);
  std::optional<ReplayPrediction> prediction;
  if (question.asks()) {
    Progress progress(session.console, arguments.traces.quiet ? ProgressMode::none : ProgressMode::automatic);
    ReplayQuestion asked = question;
    asked.progress = [&progress](std::size_t done, std::size_t all) { progress(done, all); };
    prediction = predict_replay(run, asked);
  }
  const std::string text = replay_to_text(run, prediction);
  const std::string json = replay_to_json(run, prediction) + "\n";
  if (folder) {
    folder->write(report_text, text);
    folder->write(report_json, json);
    folder->write(timeline_trace, [&](std::ostream& out) { write_timelines(run, prediction, out); });
    folder->commit();
  }
  session.console.print(arguments.as_json ? json : text);
  if (folder && !arguments.as_json) {
    session.console.print(fmt::format("\nWritten to {}: {}, {}, {} (open it at https://ui.perfetto.dev)\n",
                                      arguments.out, report_text, report_json, timeline_trace));
  }
}

}  // namespace

void add_replay(CLI::App& root, Action& action) {
  CLI::App* command = add_command(root, "replay", "play a captured run as it was, and predict it on other hardware",
                                  {"warploom replay rank0.pt.trace.json.gz", "warploom replay traces/ --on dgx_h200",
                                   "warploom replay traces/ --on dgx_h100 --set device.memory.bandwidth=4TB/s",
                                   "warploom replay rank0.json.gz --ranks 64 --on eos_h100",
                                   "warploom replay traces/ --step 12 --what-if edits.yaml",
                                   "warploom replay --astra-sim system.json network.yml workload/all_reduce"});
  const auto arguments = std::make_shared<ReplayArguments>();
  command
      ->add_option(
          "TRACE", arguments->traces.paths,
          "trace files and folders of them, one capture a rank (Kineto, Chakra, Nsight Systems, XPlane, Ascend)")
      ->type_name(trace_label)
      ->expected(0, 100'000);
  command
      ->add_option("--on", arguments->question.on,
                   "predict it on this cluster (or on the node of this device); default: only as captured")
      ->type_name(cluster_label);
  command
      ->add_option("--source", arguments->question.source,
                   "the cluster it was captured on; default: by the device's name in the trace")
      ->type_name(cluster_label);
  add_integer(
      command, "--ranks",
      [arguments](std::int64_t value) {
        if (value < 1) throw UserError(fmt::format("`--ranks`: expected at least 1, got {}", value));
        arguments->question.ranks = value;
      },
      "the one trace stands for so many ranks that all do the same");
  add_integer(
      command, "--step", [arguments](std::int64_t value) { arguments->traces.step = value; },
      "only what this captured step (ProfilerStep#N) launched; default: all");
  command
      ->add_option(
          "--what-if", arguments->question.what_if,
          "a YAML file of edits: kernels scaled, fused, removed or added, hosts, stragglers, replicas, collectives, "
          "clock")
      ->type_name(file_label);
  add_overrides(command, arguments->question.overrides, "device.memory.bandwidth=4TB/s");
  command
      ->add_option("--out", arguments->out,
                   "write replay.txt, replay.json and a timeline for ui.perfetto.dev into this folder")
      ->type_name(folder_label);
  add_flag(command, "--json", arguments->as_json, "print one JSON object instead of text");
  add_trace_reading(command, arguments->traces);
  add_write_experiment_options(command, arguments->experiment);
  add_astra_sim_options(command, arguments->astra_sim);
  command->callback([&action, arguments, command] {
    refuse_idle_options(*command, *arguments);
    action = [arguments](Session& session) { replay(*arguments, session); };
  });
}

}  // namespace warploom
