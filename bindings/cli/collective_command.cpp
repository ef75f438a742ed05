// SPDX-License-Identifier: Apache-2.0
// `warploom collective OPERATION`: one collective alone on a cluster.
#include <fmt/format.h>

#include <memory>

#include "bindings/cli/command.hpp"
#include "bindings/cli/moe_arguments.hpp"
#include "bindings/report/collective_report.hpp"
#include "network/collective_estimate.hpp"
#include "network/collectives/moe/moe.hpp"
#include "sim/core/text.hpp"
#include "sim/core/units.hpp"
#include "workloads/network_lookup.hpp"
#include "workloads/validation/prediction_bands.hpp"

namespace warploom {

namespace {

struct CollectiveArguments {
  std::string operation;
  std::string cluster;
  std::int64_t gpus = 0;
  std::string bytes;
  CollectiveChoice choice;
  MoeArguments moe;
  std::vector<std::string> overrides;
  bool as_json = false;
  bool explain = false;
};

const std::vector<std::string>& operations() {
  static const std::vector<std::string> names = {"all_reduce", "all_gather", "reduce_scatter", "broadcast",
                                                 "all_to_all", "send_recv",  "moe_dispatch",   "moe_combine"};
  return names;
}

Bytes bytes_of(const std::string& text) {
  if (text.empty()) throw UserError("`warploom collective` needs a size: `--bytes SIZE`", "such as `--bytes 256MiB`");
  if (const auto bytes = parse_quantity<Bytes>(text)) {
    if (*bytes < Bytes(0)) throw UserError("`--bytes`: expected a size of at least 0 B, got " + warploom::quoted(text));
    return *bytes;
  }
  throw UserError("`--bytes`: expected a size such as `256 MiB`, got " + warploom::quoted(text),
                  "write it with a unit: B, kB, MB, GB, KiB, MiB, GiB");
}

void estimate(const CollectiveArguments& arguments, Session& session) {
  if (arguments.operation.empty()) {
    throw UserError("`warploom collective` needs an operation", "one of " + join(operations()));
  }
  if (arguments.cluster.empty()) {
    throw UserError("`warploom collective` needs a cluster: `--cluster CLUSTER`",
                    "such as `--cluster dgx_h100`; `warploom list clusters` shows all");
  }
  if (arguments.gpus < 2) throw UserError("`warploom collective` needs at least two devices: `--gpus N`");
  const CollectiveKind kind = *collective_kind(arguments.operation);
  Call call;
  call.kind = kind;
  if (!is_moe(kind)) {
    arguments.moe.require_unused(kind);
    call.bytes = bytes_of(arguments.bytes);
  } else if (!arguments.bytes.empty()) {
    throw UserError(fmt::format("`--bytes` says nothing of {}", arguments.operation),
                    "its bytes follow from `--tokens`, `--hidden`, `--top-k` and `--experts`");
  }
  const FoundNetwork found = load_network(arguments.cluster, arguments.gpus, arguments.overrides);
  if (is_moe(kind) && !(arguments.choice.algorithm.empty() && arguments.choice.protocol.empty())) {
    throw UserError(fmt::format("`--algorithm` and `--protocol` say nothing of {}", arguments.operation),
                    "`--kind` says which kernels do it");
  }
  if (is_moe(kind)) call = arguments.moe.call(kind, arguments.gpus, found);
  CollectiveReport report;
  report.call = call;
  report.cluster = found.name;
  report.ranks = arguments.gpus;
  report.has_explanation = arguments.explain && !is_moe(kind);  // those are what was asked for
  report.estimate = estimate_collective(found.network, call, first_ranks(arguments.gpus), arguments.choice);
  const bool in_a_node = arguments.gpus <= found.network.topology->node_size();
  const Library library = Library::from_environment();
  const std::string device = device_of(found, library);
  if (const auto band = collective_band(call, device, arguments.gpus, in_a_node, ErrorBands::load(library)))
    report.band = band_around(1 / band->ratio_p90, 1 / band->ratio_p10, description(*band));
  session.console.print(arguments.as_json ? to_json(report) : to_text(report));
}

}  // namespace

void add_collective(CLI::App& root, Action& action) {
  CLI::App* command =
      add_command(root, "collective", "predict one collective alone on a cluster, and how the library does it",
                  {"warploom collective all_reduce --cluster dgx_h100 --gpus 8 --bytes 256MiB",
                   "warploom collective all_gather --cluster dgx_h100 --gpus 8 --bytes 1GiB --json"});
  const auto arguments = std::make_shared<CollectiveArguments>();
  set_choices(command->add_option("OPERATION", arguments->operation, "what is done")->type_name("OPERATION"),
              operations());
  command->add_option("--cluster", arguments->cluster, "a cluster of the library, or a file")->type_name(cluster_label);
  add_integer(
      command, "--gpus", [arguments](std::int64_t value) { arguments->gpus = value; },
      "how many devices take part, from the first on");
  command
      ->add_option("--bytes", arguments->bytes,
                   "the full buffer of one rank, as nccl-tests counts it, with its unit: 256MiB")
      ->type_name("SIZE");
  command
      ->add_option("--algorithm", arguments->choice.algorithm,
                   "instead of the library's choice (as NCCL_ALGO): ring, "
                   "tree, nvls, ...")
      ->type_name("NAME");
  set_choices(
      command->add_option("--protocol", arguments->choice.protocol, "instead of the library's choice (as NCCL_PROTO)")
          ->type_name("NAME"),
      {"ll", "ll128", "simple"});
  add_moe_arguments(command, arguments->moe);
  add_overrides(command, arguments->overrides);
  add_flag(command, "--explain", arguments->explain, "list what the library could have done");
  add_flag(command, "--json", arguments->as_json, "print one JSON object instead of text");
  command->callback(
      [&action, arguments] { action = [arguments](Session& session) { estimate(*arguments, session); }; });
}

}  // namespace warploom
