// SPDX-License-Identifier: Apache-2.0
// `warploom collective OPERATION`: one collective alone on a cluster.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "bindings/cli/call_arguments.hpp"
#include "bindings/cli/command.hpp"
#include "bindings/cli/moe_arguments.hpp"
#include "bindings/cli/progress.hpp"
#include "bindings/report/collective_report.hpp"
#include "network/collective_estimate.hpp"
#include "network/collectives/moe/moe.hpp"
#include "network/fabrics.hpp"
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
  std::string ranks;
  std::string bytes;
  std::string fabric;
  std::vector<std::string> beside;
  CollectiveChoice choice;
  MoeArguments moe;
  std::vector<std::string> overrides;
  bool as_json = false;
  bool explain = false;
};

const std::vector<std::string>& operations() {
  static const std::vector<std::string> names = {"all_reduce", "all_gather",   "reduce_scatter", "broadcast",
                                                 "all_to_all", "send_recv",    "reduce",         "gather",
                                                 "scatter",    "moe_dispatch", "moe_combine"};
  return names;
}

Members taking_part(const CollectiveArguments& arguments) {
  if (arguments.ranks.empty()) {
    if (arguments.gpus < 2)
      throw UserError("`warploom collective` needs at least two devices: `--gpus N`", "or `--ranks 0-7,16,24`");
    return {first_ranks(arguments.gpus), arguments.gpus};
  }
  const Members members = members_of("--ranks", arguments.ranks);
  if (arguments.gpus > 0 && arguments.gpus != members.group.member_count())
    throw UserError(fmt::format("`--gpus {}` and {} ranks in `--ranks`", arguments.gpus, members.group.member_count()),
                    "leave `--gpus` out");
  return members;
}

// With the fabric that is asked for instead of the cluster's own.
std::vector<std::string> overrides_of(const CollectiveArguments& arguments) {
  std::vector<std::string> overrides = arguments.overrides;
  // The fluid fabric knows nothing of what a file says of packets.
  if (arguments.fabric == "fluid") overrides.emplace_back("network.fabric={kind: fluid}");
  if (!arguments.fabric.empty() && arguments.fabric != "fluid")
    overrides.push_back("network.fabric.kind=" + arguments.fabric);
  return overrides;
}

void estimate(const CollectiveArguments& arguments, Session& session) {
  if (arguments.operation.empty()) {
    throw UserError("`warploom collective` needs an operation", "one of " + join(operations()));
  }
  if (arguments.cluster.empty()) {
    throw UserError("`warploom collective` needs a cluster: `--cluster CLUSTER`",
                    "such as `--cluster dgx_h100`; `warploom list clusters` shows all");
  }
  const Members members = taking_part(arguments);
  const std::int64_t ranks = members.group.member_count();
  const CollectiveKind kind = *collective_kind(arguments.operation);
  Call call;
  call.kind = kind;
  if (!is_moe(kind)) {
    arguments.moe.require_unused(kind);
    if (arguments.bytes.empty())
      throw UserError("`warploom collective` needs a size: `--bytes SIZE`", "such as `--bytes 256MiB`");
    call.bytes = bytes_of("--bytes", arguments.bytes);
  } else if (!arguments.bytes.empty()) {
    throw UserError(fmt::format("`--bytes` says nothing of {}", arguments.operation),
                    "its bytes follow from `--tokens`, `--hidden`, `--top-k` and `--experts`");
  }
  const std::vector<CallBeside> beside = calls_beside(arguments.beside);
  std::int64_t devices = members.devices;
  for (const CallBeside& other : beside) devices = std::max(devices, other.members.devices);
  FoundNetwork found = load_network(arguments.cluster, devices, overrides_of(arguments));
  if (is_moe(kind) && !(arguments.choice.algorithm.empty() && arguments.choice.protocol.empty())) {
    throw UserError(fmt::format("`--algo` and `--proto` say nothing of {}", arguments.operation),
                    "`--kind` says which kernels do it");
  }
  if (is_moe(kind)) call = arguments.moe.call(kind, ranks, found);
  std::optional<Progress> progress;
  progress.emplace(session.console, ProgressMode::automatic, "playing", "packet-hops");
  found.network.progress = [&progress](std::size_t done, std::size_t all) { (*progress)(done, all); };
  CollectiveReport report;
  report.call = call;
  report.cluster = found.name;
  report.ranks = ranks;
  report.fabric = found.network.fabric_kind;
  report.has_explanation = arguments.explain && !is_moe(kind);  // those are what was asked for
  report.estimate = arguments.explain ? estimate_collective(found.network, call, members.group, arguments.choice)
                                      : estimate_chosen(found.network, call, members.group, arguments.choice);
  if (!beside.empty()) {
    std::vector<ConcurrentCall> calls{{call, members.group, arguments.choice}};
    for (const CallBeside& other : beside) calls.push_back({other.call, other.members.group, {}});
    ConcurrentEstimate together = estimate_concurrent(found.network, calls);
    report.together = together.together[0];
    report.together_end = together.end;
    report.bottleneck_together = together.bottleneck;
    report.estimate.packets = std::move(together.packets);
    for (std::size_t i = 0; i < beside.size(); ++i)
      report.beside.push_back({beside[i].text, together.alone[i + 1].duration, together.together[i + 1]});
  }
  const bool in_a_node = members.devices <= found.network.topology->node_size();
  const Library library = Library::from_environment();
  const std::string device = device_of(found, library);
  if (auto band = collective_band(call, device, ranks, in_a_node, ErrorBands::load(library))) {
    // What was measured is the library's own choice on the device's own network.
    const bool is_altered =
        !arguments.overrides.empty() || !arguments.choice.algorithm.empty() || !arguments.choice.protocol.empty();
    band->is_borrowed = band->is_borrowed || is_altered;
    report.band = band_around(1 / band->ratio_p90, 1 / band->ratio_p10, description(*band));
  }
  progress.reset();
  session.console.print(arguments.as_json ? to_json(report) : to_text(report));
}

}  // namespace

void add_collective(CLI::App& root, Action& action) {
  CLI::App* command =
      add_command(root, "collective", "predict one collective alone on a cluster, and how the library does it",
                  {"warploom collective all_reduce --cluster dgx_h100 --gpus 8 --bytes 256MiB",
                   "warploom collective all_gather --cluster dgx_h100 --gpus 8 --bytes 1GiB --json",
                   "warploom collective all_reduce --cluster dgx_h100 --ranks 0,8 --bytes 64MiB"});
  const auto arguments = std::make_shared<CollectiveArguments>();
  set_choices(command->add_option("OPERATION", arguments->operation, "what is done")->type_name("OPERATION"),
              operations());
  command->add_option("--cluster", arguments->cluster, "a cluster of the library, or a file")->type_name(cluster_label);
  add_integer(
      command, "--gpus", [arguments](std::int64_t value) { arguments->gpus = value; },
      "how many devices take part, from the first on");
  command
      ->add_option("--ranks", arguments->ranks,
                   "which devices take part, in the order of the members, instead: 0-7,16-23")
      ->type_name("LIST");
  command
      ->add_option("--bytes", arguments->bytes,
                   "the full buffer of one rank, as nccl-tests counts it, with its unit: 256MiB")
      ->type_name("SIZE");
  command
      ->add_option("--algo,--algorithm", arguments->choice.algorithm,
                   "instead of the library's choice (as NCCL_ALGO): ring, tree, nvls, ..., or an MSCCL file: plan.xml")
      ->type_name("NAME");
  command
      ->add_option("--proto,--protocol", arguments->choice.protocol,
                   "instead of the library's choice (as NCCL_PROTO): ll, ll128, simple, or a list such as ^ll")
      ->type_name("NAME");
  set_choices(command
                  ->add_option("--fabric", arguments->fabric,
                               "what moves the bytes: fair shares, or packets in queues with their statistics")
                  ->type_name("KIND"),
              fabric_registry().names());
  command
      ->add_option("--beside", arguments->beside,
                   "another call that starts at the same moment: \"all_to_all 64MiB 8-15\"; may be repeated")
      ->type_name("CALL");
  add_moe_arguments(command, arguments->moe);
  add_overrides(command, arguments->overrides, "network.tiers[1].oversubscription=2");
  add_flag(command, "--explain", arguments->explain, "list what the library could have done");
  add_flag(command, "--json", arguments->as_json, "print one JSON object instead of text");
  command->callback(
      [&action, arguments] { action = [arguments](Session& session) { estimate(*arguments, session); }; });
}

}  // namespace warploom
