// SPDX-License-Identifier: Apache-2.0
// The whole command: parses its arguments, runs what they ask for, and turns every failure into a text and an exit
// code.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bindings/cli/command.hpp"

namespace warploom {

// All commands, declared; parsing sets `action`.
std::unique_ptr<CLI::App> make_command_line(Action& action);

// Runs it; every exception becomes a text on standard error and an exit code.
int exit_code_of(const std::function<void()>& step, const Console& console);

// The exit code: 0, 2 (the user's mistakes), 70 (ours), 141 (nobody reads our output).
int run_command_line(const std::vector<std::string>& arguments, Session& session);

// The version, and what this build is.
std::string build_info();

}  // namespace warploom
