// SPDX-License-Identifier: Apache-2.0
// `warploom inspect CLUSTER`: what its network is made of, what it can do, and its picture.
#include <fmt/format.h>

#include <fstream>
#include <memory>
#include <optional>

#include "bindings/cli/command.hpp"
#include "bindings/cli/graphviz.hpp"
#include "bindings/report/network_report.hpp"
#include "sim/core/errors.hpp"
#include "workloads/network_lookup.hpp"

namespace warploom {

namespace {

struct InspectArguments {
  std::string cluster;
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
  if (arguments.cluster.empty())
    throw UserError("`warploom inspect` needs a cluster", "such as `dgx_h100`; `warploom list clusters` shows all");
  if (arguments.gpus && *arguments.gpus < 1) {
    throw UserError(fmt::format("`--gpus`: expected at least 1 device, got {}", *arguments.gpus),
                    "leave it out for all devices of the cluster");
  }
  const FoundTopology found = load_topology(arguments.cluster, arguments.gpus.value_or(0), arguments.overrides);
  const InspectedNetwork network = inspect_network(*found.topology);
  const NetworkReport report{found.name, network.counts};
  if (!arguments.svg.empty() || !arguments.dot.empty()) {
    const Picture picture = draw(found.name, network.graph, network.part, network.background);
    if (!arguments.dot.empty()) write_file(arguments.dot, picture.dot);
    if (!arguments.svg.empty()) render_svg(picture.is_layered ? "dot" : "sfdp", picture.dot, arguments.svg);
  }
  session.console.print(arguments.as_json ? to_json(report) : to_text(report));
}

}  // namespace

void add_inspect(CLI::App& root, Action& action) {
  CLI::App* command =
      add_command(root, "inspect", "count a cluster's switches, cables and optics, measure its network, draw it",
                  {"warploom inspect dgx_h100", "warploom inspect cloudmatrix384 --svg cloudmatrix.svg",
                   "warploom inspect dgx_h100 --gpus 256 --json"});
  const auto arguments = std::make_shared<InspectArguments>();
  command->add_option("CLUSTER", arguments->cluster, "a cluster of the library, or a file")->type_name(cluster_label);
  add_integer(
      command, "--gpus", [arguments](std::int64_t value) { arguments->gpus = value; },
      "only what so many devices use, from the first on; default: all, or those of the placement");
  command->add_option("--svg", arguments->svg, "draw it, by Graphviz, as an SVG file")->type_name(file_label);
  command->add_option("--dot", arguments->dot, "write the picture in Graphviz's language")->type_name(file_label);
  add_overrides(command, arguments->overrides);
  add_flag(command, "--json", arguments->as_json, "print one JSON object instead of text");
  command->callback(
      [&action, arguments] { action = [arguments](Session& session) { inspect_cluster(*arguments, session); }; });
}

}  // namespace warploom
