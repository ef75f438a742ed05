// SPDX-License-Identifier: Apache-2.0
// How `--help` looks: usage, arguments, options and commands in aligned columns, then examples and exit codes.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace warploom {

class HelpFormatter final : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
};

// `warploom run`; for the root `warploom`.
std::string full_name(const CLI::App& app);

}  // namespace warploom
