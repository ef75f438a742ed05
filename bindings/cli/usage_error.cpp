// SPDX-License-Identifier: Apache-2.0
// Looks at what the parser could not place, rather than at its words for it.
#include "bindings/cli/usage_error.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "bindings/cli/command.hpp"
#include "bindings/cli/help.hpp"
#include "sim/core/text.hpp"

namespace warploom {

namespace {

// The subcommand that was given, or the root.
const CLI::App& deepest(const CLI::App& app) {
  const auto given = app.get_subcommands();
  return given.empty() ? app : deepest(*given.front());
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options({})) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string see_help(const CLI::App& app) { return "`" + full_name(app) + " --help` shows how it is used"; }

UserError unknown_option(const CLI::App& app, const std::string& given) {
  const std::string name = given.substr(0, given.find('='));
  return UserError("`" + full_name(app) + "` has no option " + warploom::quoted(name),
                   suggestion(name, option_names(app), see_help(app)));
}

std::vector<std::string> subcommand_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

UserError unknown_command(const CLI::App& app, const std::string& given) {
  const auto names = subcommand_names(app);
  if (app.get_parent() == nullptr) {
    return UserError("there is no command " + warploom::quoted(given),
                     suggestion(given, names, "the commands are " + join(names)));
  }
  return UserError("`" + full_name(app) + "` has no kind " + warploom::quoted(given),
                   suggestion(given, names, "it has " + join(names)));
}

UserError one_too_many(const CLI::App& app, const std::string& given) {
  std::string takes;
  for (const CLI::Option* option : app.get_options({})) {
    if (option->get_positional()) takes += (takes.empty() ? "" : " ") + option->get_name(true);
  }
  const std::string known = takes.empty() ? "takes no argument" : "takes one " + takes;
  std::string hint = see_help(app);
  if (given.find('=') != std::string::npos) hint = "to override a value write `--set " + given + "`";
  return UserError("`" + full_name(app) + "` " + known + ": " + warploom::quoted(given) + " is one too many", hint);
}

// An option without the value that it needs, a flag with one that it does not take.
std::optional<UserError> wrong_value(const CLI::App& app, const std::string& message) {
  for (const CLI::Option* option : app.get_options({})) {
    const std::string name = option->get_name();
    if (option->get_positional() || option->get_lnames().empty()) continue;
    if (is_flag(*option) && message.starts_with(option->get_lnames().front() + " was given")) {
      return UserError("`" + name + "` takes no value", see_help(app));
    }
    if (is_flag(*option) || !message.starts_with(name + ":")) continue;
    const std::string value = split(option->get_type_name(), ':').front();
    // CLI11 counts: `--gpus: 1 required but received 2`.
    if (const auto count = message.rfind("received "); count != std::string::npos && message[count + 9] >= '2')
      return UserError(fmt::format("`{}` is given more than once", name), see_help(app));
    return UserError(fmt::format("`{0}` needs a value: `{0} {1}`", name, value), see_help(app));
  }
  return {};
}

}  // namespace

UserError usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& given = deepest(app);
  const auto rest = given.remaining();
  if (!rest.empty()) {
    if (rest.front().starts_with("-") && rest.front() != "-") return unknown_option(given, rest.front());
    return given.get_subcommands({}).empty() ? one_too_many(given, rest.front()) : unknown_command(given, rest.front());
  }
  if (&given == &app) return UserError("there is no command", see_help(app));
  if (!given.get_subcommands({}).empty()) {
    return UserError("`" + full_name(given) + "` needs a kind", "one of " + join(subcommand_names(given)));
  }
  if (const auto wrong = wrong_value(given, error.what())) return *wrong;
  return UserError("`" + full_name(given) + "`: " + error.what(), see_help(given));
}

}  // namespace warploom
