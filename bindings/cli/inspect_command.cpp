// SPDX-License-Identifier: Apache-2.0
// `warploom inspect CLUSTER`: what its network is made of, what it can do, and its picture; of traces: what the
// captured step did.
#include <fmt/format.h>

#include <fstream>
#include <memory>
#include <optional>

#include "bindings/cli/command.hpp"
#include "bindings/cli/graphviz.hpp"
#include "bindings/cli/trace_arguments.hpp"
#include "bindings/report/capture_report.hpp"
#include "bindings/report/network_report.hpp"
#include "sim/core/errors.hpp"
#include "workloads/network_lookup.hpp"

namespace warploom {

namespace {

struct InspectArguments {
  TraceArguments traces;  // its paths: a cluster, or traces
  std::optional<std::int64_t> gpus;
  std::string svg;
  std::string dot;
  std::vector<std::string> overrides;
  bool as_json = false;
};

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) throw UserError("cannot write `" + path + "`");
}

void inspect_cluster(const InspectArguments& arguments, Session& session) {
  const auto& names = arguments.traces.paths;
  if (names.empty()) {
    throw UserError("`warploom inspect` needs a cluster or traces",
                    "such as `dgx_h100` or `trace.json.gz`; `warploom list clusters` shows all clusters");
  }
  if (names.size() > 1) {
    throw UserError(fmt::format("`{}` is no trace, and one cluster is inspected at a time", names[0]),
                    "traces are files and folders that exist");
  }
  if (arguments.gpus && *arguments.gpus < 1) {
    throw UserError(fmt::format("`--gpus`: expected at least 1 device, got {}", *arguments.gpus),
                    "leave it out for all devices of the cluster");
  }
  const FoundTopology found = load_topology(names[0], arguments.gpus.value_or(0), arguments.overrides);
  const InspectedNetwork network = inspect_network(*found.topology);
  const NetworkReport report{found.name, network.counts};
  if (!arguments.svg.empty() || !arguments.dot.empty()) {
    const Picture picture = draw(found.name, network.graph, network.part, network.background);
    if (!arguments.dot.empty()) write_file(arguments.dot, picture.dot);
    if (!arguments.svg.empty()) render_svg(picture.is_layered ? "dot" : "sfdp", picture.dot, arguments.svg);
  }
  session.console.print(arguments.as_json ? to_json(report) : to_text(report));
}

void inspect_traces(const InspectArguments& arguments, Session& session) {
  if (arguments.gpus || !arguments.svg.empty() || !arguments.dot.empty() || !arguments.overrides.empty()) {
    throw UserError("`--gpus`, `--svg`, `--dot` and `--set` say nothing of traces", "they are for clusters");
  }
  const CapturedRun run = read_run(arguments.traces, session);
  session.console.print(arguments.as_json ? captures_to_json(run) + "\n" : captures_to_text(run));
}

void inspect(const InspectArguments& arguments, Session& session) {
  if (are_traces(arguments.traces.paths)) return inspect_traces(arguments, session);
  inspect_cluster(arguments, session);
}

}  // namespace

void add_inspect(CLI::App& root, Action& action) {
  CLI::App* command =
      add_command(root, "inspect",
                  "a cluster: count its switches, cables and optics, measure its network, draw it; traces of a "
                  "captured step: say where its time went",
                  {"warploom inspect dgx_h100", "warploom inspect cloudmatrix384 --svg cloudmatrix.svg",
                   "warploom inspect dgx_h100 --gpus 256 --json", "warploom inspect rank0.pt.trace.json.gz",
                   "warploom inspect traces/ --json | jq .traces[0].device_span"});
  const auto arguments = std::make_shared<InspectArguments>();
  command
      ->add_option("CLUSTER", arguments->traces.paths,
                   "a cluster of the library or a file; or trace files and folders of them (Kineto, Chakra, Nsight "
                   "Systems, XPlane, Ascend)")
      ->type_name(cluster_label)
      ->expected(0, 100'000);
  add_integer(
      command, "--gpus", [arguments](std::int64_t value) { arguments->gpus = value; },
      "only what so many devices use, from the first on; default: all, or those of the placement");
  command->add_option("--svg", arguments->svg, "draw it, by Graphviz, as an SVG file")->type_name(file_label);
  command->add_option("--dot", arguments->dot, "write the picture in Graphviz's language")->type_name(file_label);
  add_overrides(command, arguments->overrides, "network.tiers[1].oversubscription=2");
  add_flag(command, "--json", arguments->as_json, "print one JSON object instead of text");
  add_trace_reading(command, arguments->traces);
  command->callback([&action, arguments] { action = [arguments](Session& session) { inspect(*arguments, session); }; });
}

}  // namespace warploom
