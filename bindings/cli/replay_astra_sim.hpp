// SPDX-License-Identifier: Apache-2.0
// `warploom replay --astra-sim SYSTEM NETWORK WORKLOAD`: an ASTRA-sim experiment, unchanged.
#pragma once

#include <CLI/CLI.hpp>

#include <span>
#include <string>

#include "bindings/cli/command.hpp"

namespace warploom {

// What beyond the three files is said on the command line; names as ASTRA-sim's own where it has them.
struct AstraSimArguments {
  bool is_asked = false;  // --astra-sim
  std::string remote_memory;
  std::string comm_group;
  std::string back_end = "shared";
  bool rendezvous = false;
  double comm_scale = 1;
  double injection_scale = 1;
};

// The options, --astra-sim among them.
void add_astra_sim_options(CLI::App* command, AstraSimArguments& arguments);

// `files`: the command's own, in order. Throws UserError where they are not three.
void replay_astra_sim(const AstraSimArguments& arguments, std::span<const std::string> files, bool strict, bool as_json,
                      Session& session);

}  // namespace warploom
