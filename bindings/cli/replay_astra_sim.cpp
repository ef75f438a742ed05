// SPDX-License-Identifier: Apache-2.0
// The options of an ASTRA-sim experiment, and its run.
#include "bindings/cli/replay_astra_sim.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "bindings/cli/progress.hpp"
#include "bindings/report/astra_sim_report.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

namespace {

std::optional<std::string> given(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional<std::string>(text);
}

// The workload is a prefix, not a file; whoever gives one of its files means it.
std::string prefix_of(const std::string& workload) {
  const std::string name = std::filesystem::path(workload).filename().string();
  std::string_view stem = name;
  if (!stem.ends_with(".et")) return workload;
  stem.remove_suffix(3);
  const auto dot = stem.rfind('.');
  if (dot == std::string_view::npos || dot + 1 == stem.size() ||
      stem.find_first_not_of("0123456789", dot + 1) != std::string_view::npos) {
    return workload;
  }
  return workload.substr(0, workload.size() - (name.size() - dot));
}

}  // namespace

void add_astra_sim_options(CLI::App* command, AstraSimArguments& arguments) {
  add_flag(command, "--astra-sim", arguments.is_asked,
           "the three files are an ASTRA-sim experiment: system.json network.yml folder/name (of name.RANK.et)");
  command->add_option("--remote-memory", arguments.remote_memory, "with --astra-sim: its remote memory file")
      ->type_name(file_label);
  command
      ->add_option("--comm-group", arguments.comm_group,
                   "with --astra-sim: its communicator groups (without: name.json beside the workload)")
      ->type_name(file_label);
  set_choices(
      command
          ->add_option("--back-end", arguments.back_end,
                       "with --astra-sim: links that all messages share, or the closed forms of ASTRA-sim's own "
                       "analytical back ends")
          ->type_name("KIND"),
      {"shared", "unaware", "aware"});
  add_flag(command, "--rendezvous", arguments.rendezvous, "with --astra-sim: a send waits for its receive");
  command->add_option("--comm-scale", arguments.comm_scale, "with --astra-sim: times every message's size")
      ->type_name("NUMBER");
  command->add_option("--injection-scale", arguments.injection_scale, "with --astra-sim: times the endpoint delay")
      ->type_name("NUMBER");
}

void replay_astra_sim(const AstraSimArguments& arguments, std::span<const std::string> files, bool strict, bool as_json,
                      Session& session) {
  if (files.size() != 3) {
    throw UserError(fmt::format("`warploom replay --astra-sim` needs three files, got {}", files.size()),
                    "warploom replay --astra-sim system.json network.yml folder/name (of folder/name.RANK.et)");
  }
  AstraSimInputs inputs;
  inputs.system = files[0];
  inputs.network = files[1];
  inputs.workload = prefix_of(files[2]);
  inputs.remote_memory = given(arguments.remote_memory);
  inputs.comm_group = given(arguments.comm_group);
  if (arguments.back_end == "unaware") inputs.backend = AstraBackend::unaware;
  if (arguments.back_end == "aware") inputs.backend = AstraBackend::aware;
  inputs.rendezvous = arguments.rendezvous;
  inputs.comm_scale = arguments.comm_scale;
  inputs.injection_scale = arguments.injection_scale;
  inputs.strict = strict;
  std::optional<Progress> progress;
  progress.emplace(session.console, ProgressMode::automatic, "playing", "nodes");
  PlayOptions options;
  options.progress = [&progress](std::size_t done, std::size_t all) { (*progress)(done, all); };
  const AstraSimResult result = play_astra_sim(inputs, options);
  progress.reset();
  session.console.print(as_json ? to_json(result) : to_text(result));
}

}  // namespace warploom
