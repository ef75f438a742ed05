// SPDX-License-Identifier: Apache-2.0
// Shell completion as scripts, written from the declared commands themselves so that it cannot fall behind them.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace warploom {

std::string bash_completion(const CLI::App& root);
std::string zsh_completion(const CLI::App& root);
std::string fish_completion(const CLI::App& root);

}  // namespace warploom
