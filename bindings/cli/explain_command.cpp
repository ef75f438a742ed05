// SPDX-License-Identifier: Apache-2.0
// `warploom explain`: the resolved configuration, each line with where it came from.
#include <memory>

#include "bindings/cli/command.hpp"
#include "sim/core/config_value.hpp"

namespace warploom {

namespace {

struct ExplainArguments {
  std::string experiment;
  std::vector<std::string> overrides;
};

}  // namespace

void add_explain(CLI::App& root, Action& action) {
  CLI::App* command = add_command(root, "explain", "print a configuration with every `use:` followed, and its origins",
                                  {"warploom explain llama3_405b_16k_h100", "warploom explain clusters/dgx_h100",
                                   "warploom explain my.yaml --set layout.data=64"});
  const auto arguments = std::make_shared<ExplainArguments>();
  add_experiment(command, arguments->experiment);
  add_overrides(command, arguments->overrides, "layout.data=64");
  command->callback([&action, arguments] {
    action = [arguments](Session& session) {
      const std::string path = chosen_experiment("explain", arguments->experiment);
      session.console.print(explain(load_config(path, arguments->overrides)));
    };
  });
}

}  // namespace warploom
