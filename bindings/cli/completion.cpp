// SPDX-License-Identifier: Apache-2.0
// What may follow what, in the languages of three shells.
#include "bindings/cli/completion.hpp"

#include <fmt/format.h>

#include <set>
#include <utility>
#include <vector>

#include "bindings/cli/command.hpp"
#include "sim/core/text.hpp"

namespace warploom {

namespace {

// What is completed after an option or as an argument.
enum class Values { none, anything, words, folders, library };

struct Completed {
  std::vector<std::string> names;  // `-h`, `--help`; empty for an argument
  std::string meaning;
  std::string label;
  Values values = Values::none;
  std::vector<std::string> words;
  std::string kind;  // of library names: `experiments`
};

struct CompletedCommand {
  std::string name;
  std::string meaning;
  std::vector<Completed> options;
  std::vector<Completed> arguments;
};

Completed completed(const CLI::Option& option) {
  Completed result;
  for (const auto& name : option.get_snames()) result.names.push_back("-" + name);
  for (const auto& name : option.get_lnames()) result.names.push_back("--" + name);
  result.meaning = option.get_description();
  result.words = choices_of(option);
  if (is_flag(option)) return result;
  result.label = split(option.get_type_name(), ':').front();
  result.values = Values::anything;
  if (result.label == folder_label) result.values = Values::folders;
  for (const auto& [label, kind] : {std::pair{experiment_label, "experiments"}, std::pair{device_label, "devices"},
                                    std::pair{cluster_label, "clusters"}}) {
    if (result.label != label) continue;
    result.values = Values::library;
    result.kind = kind;
  }
  if (!result.words.empty()) result.values = Values::words;
  return result;
}

// A command with kinds (`warploom kernel gemm`) takes their names as an argument, and the options of all of them.
void add_kinds(CompletedCommand& command, const CLI::App& app) {
  const auto kinds = app.get_subcommands({});
  if (kinds.empty() || app.get_parent() == nullptr) return;
  Completed argument{{}, "kind", "KIND", Values::words, {}, {}};
  std::set<std::vector<std::string>> known;
  for (const Completed& option : command.options) known.insert(option.names);
  for (const CLI::App* kind : kinds) {
    argument.words.push_back(kind->get_name());
    for (const CLI::Option* option : kind->get_options({})) {
      if (option->get_positional()) continue;  // has no name to complete
      Completed one = completed(*option);
      if (known.insert(one.names).second) command.options.push_back(std::move(one));
    }
  }
  command.arguments.push_back(std::move(argument));
}

CompletedCommand completed(const CLI::App& app) {
  CompletedCommand result{app.get_name(), app.get_description(), {}, {}};
  for (const CLI::Option* option : app.get_options({})) {
    (option->get_positional() ? result.arguments : result.options).push_back(completed(*option));
  }
  add_kinds(result, app);
  return result;
}

std::vector<CompletedCommand> commands_of(const CLI::App& root) {
  std::vector<CompletedCommand> result;
  for (const CLI::App* command : root.get_subcommands({})) result.push_back(completed(*command));
  return result;
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size()) {
    text.replace(at, what.size(), with);
  }
  return text;
}

std::string single_quoted(const std::string& text) { return "'" + replaced(text, "'", "'\\''") + "'"; }

std::string names_of(const std::vector<Completed>& options) {
  std::vector<std::string> names;
  for (const Completed& option : options) names.insert(names.end(), option.names.begin(), option.names.end());
  return join(names, " ");
}

std::string library_names(const std::string& kind) { return "warploom list " + kind + " --names 2>/dev/null"; }

// ---- bash -----------------------------------------------------------------------------------------------------------

std::string bash_values(const Completed& what) {
  switch (what.values) {
    case Values::words:
      return "_warploom_words " + single_quoted(join(what.words, " "));
    case Values::folders:
      return "_warploom_folders";
    case Values::library:
      return "_warploom_library " + what.kind;
    case Values::none:
    case Values::anything:
      break;
  }
  return ":";
}

std::string bash_command(const CompletedCommand& command) {
  std::string text = "    " + command.name + ")\n      case $before in\n";
  for (const Completed& option : command.options) {
    if (option.values != Values::none)
      text += "        " + join(option.names, "|") + ") " + bash_values(option) + "; return ;;\n";
  }
  text += "      esac\n";
  text +=
      "      if [[ $word == -* ]]; then _warploom_words " + single_quoted(names_of(command.options)) + "; return; fi\n";
  for (const Completed& argument : command.arguments) text += "      " + bash_values(argument) + "\n";
  return text + "      ;;\n";
}

constexpr std::string_view bash_head = R"~(# bash completion of warploom, written by `warploom completion bash`.
_warploom_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$word"); }
_warploom_folders() { compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$word"); }
_warploom_library() {
  compopt -o filenames
  mapfile -t COMPREPLY < <(
    compgen -W "$(@NAMES@)" -- "$word"
    compgen -f -X '!*.yaml' -- "$word"
    compgen -f -X '!*.yml' -- "$word"
    compgen -d -- "$word"
  )
}
_warploom() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command='' i
  COMPREPLY=()
  # `--out=x` arrives as three words.
  if [[ $word == '=' ]]; then
    word=''
  elif [[ $before == '=' ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [[ ${COMP_WORDS[i]} != -* ]]; then
      command=${COMP_WORDS[i]}
      break
    fi
  done
  case $command in
)~";

// ---- zsh ------------------------------------------------------------------------------------------------------------

std::string zsh_values(const Completed& what) {
  switch (what.values) {
    case Values::words:
      return "(" + join(what.words, " ") + ")";
    case Values::folders:
      return "_files -/";
    case Values::library:
      return "{_warploom_library " + what.kind + "}";
    case Values::none:
    case Values::anything:
      break;
  }
  return " ";
}

std::string zsh_escaped(std::string text) {
  for (const char* special : {"[", "]", ":"}) text = replaced(text, special, std::string("\\") + special);
  return text;
}

std::string zsh_option(const Completed& option) {
  std::string text;
  for (const std::string& name : option.names) {
    std::string spec = "*" + name + "[" + zsh_escaped(option.meaning) + "]";
    if (option.values != Values::none) spec += ":" + option.label + ":" + zsh_values(option);
    text += " \\\n        " + single_quoted(spec);
  }
  return text;
}

constexpr std::string_view zsh_head = R"~(#compdef warploom
# zsh completion of warploom, written by `warploom completion zsh`.
_warploom_library() {
  local -a names
  names=(${(f)"$(@NAMES@)"})
  _alternative 'names:name:compadd -a names' 'files:file:_files -g "*.(yaml|yml)"'
}
_warploom() {
  local context state state_descr line
  typeset -A opt_args
  local -a commands
)~";

// ---- fish -----------------------------------------------------------------------------------------------------------

std::string fish_quoted(const std::string& text) {
  return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

std::string fish_values(const Completed& what) {
  switch (what.values) {
    case Values::words:
      return " -x -a " + fish_quoted(join(what.words, " "));
    case Values::folders:
      return " -x -a '(__fish_complete_directories)'";
    case Values::library:
      return fmt::format(" -F -a '({})'", library_names(what.kind));
    case Values::anything:
      return " -x";
    case Values::none:
      break;
  }
  return "";
}

std::string fish_option(const Completed& option, const std::string& condition) {
  std::string text = "complete -c warploom -n " + fish_quoted(condition);
  for (const std::string& name : option.names) {
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  return text + fish_values(option) + " -d " + fish_quoted(option.meaning) + "\n";
}

}  // namespace

std::string bash_completion(const CLI::App& root) {
  std::string text = replaced(std::string(bash_head), "@NAMES@", library_names("$1"));
  const auto commands = commands_of(root);
  for (const CompletedCommand& command : commands) text += bash_command(command);
  std::vector<std::string> first;
  for (const CompletedCommand& command : commands) first.push_back(command.name);
  text +=
      "    '') _warploom_words " + single_quoted(join(first, " ") + " " + names_of(completed(root).options)) + " ;;\n";
  return text + "  esac\n}\ncomplete -F _warploom warploom\n";
}

std::string zsh_completion(const CLI::App& root) {
  std::string text = replaced(std::string(zsh_head), "@NAMES@", library_names("$1"));
  const auto commands = commands_of(root);
  text += "  commands=(\n";
  for (const CompletedCommand& command : commands) {
    text += "    " + single_quoted(command.name + ":" + replaced(command.meaning, ":", "\\:")) + "\n";
  }
  text += "  )\n  _arguments -C";
  for (const Completed& option : completed(root).options) text += zsh_option(option);
  text += " \\\n        '1:command:->command' '*::argument:->argument'\n  case $state in\n";
  text += "    command) _describe command commands ;;\n    argument)\n      case $words[1] in\n";
  for (const CompletedCommand& command : commands) {
    text += "      " + command.name + ")\n        _arguments";
    for (const Completed& option : command.options) text += zsh_option(option);
    for (std::size_t i = 0; i < command.arguments.size(); ++i) {
      const Completed& argument = command.arguments[i];
      text += " \\\n        " + single_quoted(fmt::format("{}:{}:{}", i + 1, argument.label, zsh_values(argument)));
    }
    text += "\n        ;;\n";
  }
  text += "      esac\n      ;;\n  esac\n}\n";
  // Works as a file of $fpath and through `source <(warploom completion zsh)`.
  return text + "if [[ $funcstack[1] == _warploom ]]; then _warploom \"$@\"; else compdef _warploom warploom; fi\n";
}

std::string fish_completion(const CLI::App& root) {
  std::string text = "# fish completion of warploom, written by `warploom completion fish`.\ncomplete -c warploom -f\n";
  const std::string at_first = "__fish_use_subcommand";
  for (const Completed& option : completed(root).options) text += fish_option(option, at_first);
  for (const CompletedCommand& command : commands_of(root)) {
    text +=
        "complete -c warploom -n " + at_first + " -a " + command.name + " -d " + fish_quoted(command.meaning) + "\n";
    const std::string inside = "__fish_seen_subcommand_from " + command.name;
    for (const Completed& option : command.options) text += fish_option(option, inside);
    for (const Completed& argument : command.arguments) {
      if (argument.values == Values::anything) continue;
      text += "complete -c warploom -n " + fish_quoted(inside) + fish_values(argument) + "\n";
    }
  }
  return text;
}

}  // namespace warploom
