// SPDX-License-Identifier: Apache-2.0
// Two columns, wrapped to the width of a classic terminal.
#include "bindings/cli/help.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "bindings/cli/command.hpp"
#include "sim/core/text.hpp"

namespace warploom {

namespace {

constexpr std::size_t page_width = 80;

struct Line {
  std::string label;
  std::string meaning;
};

// Words that fit beside each other, broken at spaces.
std::vector<std::string> wrapped(const std::string& text, std::size_t width) {
  std::vector<std::string> lines(1);
  for (const std::string& word : split(text, ' ')) {
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > width) lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + word;
  }
  return lines;
}

std::string section(const std::string& title, const std::vector<Line>& lines) {
  if (lines.empty()) return {};
  std::size_t width = 0;
  for (const Line& line : lines) width = std::max(width, line.label.size());
  std::string text = "\n" + title + ":\n";
  for (const Line& line : lines) {
    std::string label = line.label;
    for (const std::string& part : wrapped(line.meaning, page_width - width - 4)) {
      text += fmt::format("  {:<{}}  {}\n", label, width, part);
      label.clear();
    }
  }
  return text;
}

std::string meaning_of(const CLI::Option& option) {
  const auto choices = choices_of(option);
  return option.get_description() + (choices.empty() ? "" : ": " + join(choices));
}

// "DIR" of "DIR:validator".
std::string value_name(const CLI::Option& option) {
  return is_flag(option) ? "" : split(option.get_type_name(), ':').front();
}

}  // namespace

std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : full_name(*app.get_parent()) + " " + app.get_name();
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string, CLI::AppFormatMode) const {
  std::vector<Line> arguments, options, commands;
  std::string usage = full_name(*app);
  for (const CLI::Option* option : app->get_options({})) {
    if (option->get_positional()) {
      const std::string label = option->get_name(true);
      arguments.push_back({label, meaning_of(*option)});
      usage += is_optional(*option) ? " [" + label + "]" : " " + label;
      continue;
    }
    const std::string value = value_name(*option);
    options.push_back({join(split(option->get_name(false, true), ','), ", ") + (value.empty() ? "" : " " + value),
                       meaning_of(*option)});
  }
  for (const CLI::App* command : app->get_subcommands({}))
    commands.push_back({command->get_name(), command->get_description()});
  if (!commands.empty()) usage += " COMMAND";
  if (!options.empty()) usage += " [OPTIONS]";
  return join(wrapped(full_name(*app) + ": " + app->get_description(), page_width), "\n") + "\n\nUsage: " + usage +
         "\n" + section("Commands", commands) + section("Arguments", arguments) + section("Options", options) + "\n" +
         app->get_footer() + "\n";
}

}  // namespace warploom
