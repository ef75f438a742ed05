// SPDX-License-Identifier: Apache-2.0
// The pieces that the declarations of commands have in common.
#include "bindings/cli/command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <utility>

#include "sim/core/errors.hpp"
#include "sim/core/library.hpp"
#include "sim/core/text.hpp"

namespace warploom {

namespace {

constexpr const char* choices_name = "choices";
constexpr const char* optional_group = "optional";

std::string known_experiments() {
  std::vector<std::string> names;
  for (const LibraryEntry& entry : Library::from_environment().entries()) {
    if (entry.name.starts_with("experiments/"))
      names.push_back("`" + entry.name.substr(entry.name.find('/') + 1) + "`");
  }
  if (names.empty()) return "give a file";
  return "give a file, or one of the library: " + join(names);
}

// What an experiment is made of, where an experiment is wanted.
void refuse_a_part(const std::string& command, const std::string& name, const Library& library) {
  if (library.find(name, ".json").size() == 1 && library.find(name).empty()) {
    throw UserError(warploom::quoted(name) + " is a model",
                    "an experiment names it: `model: " + name + "`; `warploom describe " + name + "` shows it");
  }
  if (command != "run") return;  // other commands take parts
  static constexpr std::pair<const char*, const char*> parts[] = {{"devices", "a device"}, {"clusters", "a cluster"}};
  for (const auto& [folder, meaning] : parts) {
    const auto found = library.find(name);
    if (found.size() != 1 || !found.front().name.starts_with(std::string(folder) + "/")) continue;
    throw UserError(fmt::format("{} is {}", warploom::quoted(name), meaning),
                    "an experiment names it; `warploom list experiments` shows those that are ready, and `warploom "
                    "describe " +
                        name + "` what this is");
  }
}

}  // namespace

CLI::App* add_command(CLI::App& root, const std::string& name, const std::string& meaning,
                      const std::vector<std::string>& examples) {
  CLI::App* command = root.add_subcommand(name, meaning);
  command->set_help_flag("-h,--help", "print this");
  std::string footer = "Examples:\n";
  for (const std::string& example : examples) footer += "  " + example + "\n";
  command->footer(footer +
                  "\nExit codes:\n"
                  "  0    done\n"
                  "  2    a mistake in the command line, in a file or in a value\n"
                  "  70   a bug in warploom\n"
                  "  130  interrupted; nothing is left half-written");
  return command;
}

void add_flag(CLI::App* command, const std::string& name, bool& flag, const std::string& meaning) {
  command->add_flag(name, flag, meaning)->disable_flag_override();
}

CLI::Option* add_integer(CLI::App* command, const std::string& name, std::function<void(std::int64_t)> take,
                         const std::string& meaning) {
  const auto parse = [take = std::move(take), name](const std::string& given) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), value);
    if (error == std::errc::result_out_of_range) {
      throw UserError("`" + name + "`: " + warploom::quoted(given) + " is beyond 64 bits");
    }
    if (error != std::errc() || end != given.data() + given.size()) {
      throw UserError("`" + name + "`: expected a whole number, got " + warploom::quoted(given));
    }
    take(value);
  };
  return command->add_option_function<std::string>(name, parse, meaning)->type_name("N");
}

void set_optional(CLI::Option* argument) { argument->group(optional_group); }

bool is_optional(const CLI::Option& argument) { return argument.get_group() == optional_group; }

void set_choices(CLI::Option* option, std::vector<std::string> choices) {
  const std::string listed = join(choices, "|");
  const std::string name = option->get_positional() ? option->get_name(true) : option->get_name();
  auto check = [choices = std::move(choices), name](const std::string& given) {
    if (std::find(choices.begin(), choices.end(), given) == choices.end()) {
      throw UserError("`" + name + "`: expected one of " + join(choices) + ", got " + warploom::quoted(given),
                      suggestion(given, choices));
    }
    return std::string();
  };
  option->check(CLI::Validator(std::move(check), listed, choices_name));
}

void set_not_empty(CLI::Option* option) {
  option->check(CLI::Validator(
      [name = option->get_name()](const std::string& given) {
        if (given.empty()) throw UserError("`" + name + "` is given an empty word", "leave it out, or give it a value");
        return std::string();
      },
      ""));
}

std::vector<std::string> choices_of(const CLI::Option& option) {
  try {
    // get_validator() is not const, but changes nothing.
    return split(const_cast<CLI::Option&>(option).get_validator(choices_name)->get_description(), '|');
  } catch (const CLI::OptionNotFound&) {
    return {};
  }
}

void add_overrides(CLI::App* command, std::vector<std::string>& overrides, const std::string& such_as) {
  command->add_option("--set", overrides, "override a value, such as " + such_as + "; may be repeated")
      ->type_name(override_label)
      ->allow_extra_args(false);  // one value each time, so that a file may follow
}

void add_experiment(CLI::App* command, std::string& experiment) {
  command->add_option(experiment_label, experiment, "a YAML file, or the name of an experiment in the library")
      ->type_name(experiment_label);
}

std::string chosen_experiment(const std::string& command, const std::string& experiment) {
  if (experiment.empty()) throw UserError("`warploom " + command + "` needs an experiment", known_experiments());
  std::error_code ignored;
  const auto type = std::filesystem::status(experiment, ignored).type();
  // A folder may have the name because results lie in it.
  if (type != std::filesystem::file_type::not_found && type != std::filesystem::file_type::directory) return experiment;
  const Library library = Library::from_environment();
  std::string in_library = "experiments/" + experiment;
  if (!library.find(in_library).empty()) return in_library;
  refuse_a_part(command, experiment, library);
  return experiment;
}

}  // namespace warploom
