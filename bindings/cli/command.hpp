// SPDX-License-Identifier: Apache-2.0
// What the commands of `warploom` share: how they are declared and what they are given to run.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bindings/cli/console.hpp"
#include "bindings/cli/interrupts.hpp"

namespace warploom {

struct Session {
  const Console& console;
  Interrupts& interrupts;
};

// What the command line asked for; set while it is parsed, run afterwards.
using Action = std::function<void(Session&)>;

// One file each. They add a subcommand with its options, its examples and what it sets `action` to.
void add_run(CLI::App& root, Action& action);
void add_explain(CLI::App& root, Action& action);
void add_schema(CLI::App& root, Action& action);
void add_list(CLI::App& root, Action& action);
void add_completion(CLI::App& root, Action& action);
void add_kernel(CLI::App& root, Action& action);
void add_collective(CLI::App& root, Action& action);
void add_describe(CLI::App& root, Action& action);
void add_inspect(CLI::App& root, Action& action);
void add_replay(CLI::App& root, Action& action);
void add_convert(CLI::App& root, Action& action);
void add_compare(CLI::App& root, Action& action);
void add_doctor(CLI::App& root, Action& action);
void add_validate(CLI::App& root, Action& action);
void add_calibrate(CLI::App& root, Action& action);

// ---- What declarations are made of (command.cpp) ----------------------------------------------------------------

CLI::App* add_command(CLI::App& root, const std::string& name, const std::string& meaning,
                      const std::vector<std::string>& examples);

// An option without a value.
void add_flag(CLI::App* command, const std::string& name, bool& flag, const std::string& meaning);
inline bool is_flag(const CLI::Option& option) { return option.get_expected_max() == 0; }

// An option that takes a whole number in decimal: 0x8, 1e3 and what 64 bits do not hold are
// refused.
CLI::Option* add_integer(CLI::App* command, const std::string& name, std::function<void(std::int64_t)> take,
                         const std::string& meaning);

// An argument that may be left out; help shows it in brackets.
void set_optional(CLI::Option* argument);
bool is_optional(const CLI::Option& argument);

// The words that an option or argument takes; help and shell completion list them.
void set_choices(CLI::Option* option, std::vector<std::string> choices);
// An empty word is refused: a shell variable that is not set, not the option left out.
void set_not_empty(CLI::Option* option);
std::vector<std::string> choices_of(const CLI::Option& option);

// `--set key=value`, as often as wanted; `such_as` is one that the command takes.
void add_overrides(CLI::App* command, std::vector<std::string>& overrides, const std::string& such_as);
// EXPERIMENT: a file or a name of the library.
void add_experiment(CLI::App* command, std::string& experiment);
// What load_config() is to be given for it: where other folders of the library have the name too, the experiment is
// meant. Throws UserError that says what there is when none was given.
std::string chosen_experiment(const std::string& command, const std::string& experiment);

// Names that start an argument of this kind in help and completion.
inline constexpr const char* experiment_label = "EXPERIMENT";
inline constexpr const char* device_label = "DEVICE";
inline constexpr const char* cluster_label = "CLUSTER";
inline constexpr const char* folder_label = "DIR";
inline constexpr const char* file_label = "FILE";
inline constexpr const char* override_label = "KEY=VALUE";

}  // namespace warploom
