// SPDX-License-Identifier: Apache-2.0
// `warploom completion`: a script that lets a shell complete commands, options and names.
#include <memory>

#include "bindings/cli/command.hpp"
#include "bindings/cli/completion.hpp"
#include "sim/core/errors.hpp"

namespace warploom {

void add_completion(CLI::App& root, Action& action) {
  CLI::App* command = add_command(root, "completion", "print a completion script for a shell",
                                  {"source <(warploom completion bash)", "warploom completion zsh > ~/.zfunc/_warploom",
                                   "warploom completion fish > ~/.config/fish/completions/warploom.fish"});
  const auto shell = std::make_shared<std::string>();
  set_choices(command->add_option("SHELL", *shell, "the shell")->type_name("SHELL"), {"bash", "zsh", "fish"});
  command->callback([&action, &root, shell] {
    action = [&root, shell](Session& session) {
      if (shell->empty()) throw UserError("`warploom completion` needs a shell", "bash, zsh or fish");
      if (*shell == "bash") session.console.print(bash_completion(root));
      if (*shell == "zsh") session.console.print(zsh_completion(root));
      if (*shell == "fish") session.console.print(fish_completion(root));
    };
  });
}

}  // namespace warploom
