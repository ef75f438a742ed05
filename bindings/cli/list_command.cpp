// SPDX-License-Identifier: Apache-2.0
// `warploom list`: what can be named in a configuration.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "bindings/cli/catalogue.hpp"
#include "bindings/cli/command.hpp"
#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"

namespace warploom {

namespace {

struct ListArguments {
  std::string kind;
  bool names = false;
  bool as_json = false;
};

std::string as_table(const CatalogueKind& kind, const std::vector<CatalogueEntry>& entries) {
  std::size_t width = 0;
  for (const CatalogueEntry& entry : entries) width = std::max(width, entry.name.size());
  std::string text = fmt::format("{} ({})\n", kind.name, kind.meaning);
  for (const CatalogueEntry& entry : entries) {
    text += entry.meaning.empty() ? "  " + entry.name + "\n"
                                  : fmt::format("  {:<{}}  {}\n", entry.name, width, entry.meaning);
  }
  return text + (entries.empty() ? "  none\n" : "");
}

std::string as_names(const std::vector<CatalogueEntry>& entries) {
  std::string text;
  for (const CatalogueEntry& entry : entries) text += entry.name + "\n";
  return text;
}

std::string as_json(const std::vector<CatalogueKind>& kinds) {
  std::vector<std::string> parts;
  for (const CatalogueKind& kind : kinds) {
    std::vector<std::string> entries;
    for (const CatalogueEntry& entry : catalogue(kind.name)) {
      entries.push_back("\n    {\"name\": " + json_string(entry.name) + ", \"meaning\": " + json_string(entry.meaning) +
                        "}");
    }
    parts.push_back("\n  " + json_string(kind.name) + ": [" + join(entries, ",") + (entries.empty() ? "]" : "\n  ]"));
  }
  return "{" + join(parts, ",") + "\n}\n";
}

void list(const ListArguments& arguments, Session& session) {
  auto kinds = catalogue_kinds();
  if (!arguments.kind.empty()) std::erase_if(kinds, [&](const auto& kind) { return kind.name != arguments.kind; });
  if (arguments.as_json) return session.console.print(as_json(kinds));
  if (arguments.names && kinds.size() > 1)
    throw UserError("`--names` needs a kind", "such as `warploom list devices --names`");
  std::string text;
  for (const CatalogueKind& kind : kinds) {
    const auto entries = catalogue(kind.name);
    if (arguments.names) {
      text += as_names(entries);
    } else if (!entries.empty() || kinds.size() == 1) {
      text += (text.empty() ? "" : "\n") + as_table(kind, entries);
    }
  }
  session.console.print(text);
}

}  // namespace

void add_list(CLI::App& root, Action& action) {
  CLI::App* command =
      add_command(root, "list", "list what configurations can name: experiments, devices, topologies, ...",
                  {"warploom list", "warploom list devices", "warploom list experiments --names"});
  const auto arguments = std::make_shared<ListArguments>();
  std::vector<std::string> names;
  for (const CatalogueKind& kind : catalogue_kinds()) names.push_back(kind.name);
  CLI::Option* argument = command->add_option("KIND", arguments->kind, "only one kind")->type_name("KIND");
  set_optional(argument);
  set_choices(argument, names);
  add_flag(command, "--names", arguments->names, "only the names, one a line");
  add_flag(command, "--json", arguments->as_json, "print one JSON object instead of text");
  command->callback([&action, arguments] { action = [arguments](Session& session) { list(*arguments, session); }; });
}

}  // namespace warploom
