// SPDX-License-Identifier: Apache-2.0
// `warploom schema`: the JSON Schema of a kind of file, for editors.
#include <memory>

#include "bindings/cli/command.hpp"
#include "bindings/cli/schemas.hpp"

namespace warploom {

void add_schema(CLI::App& root, Action& action) {
  CLI::App* command = add_command(root, "schema", "print the JSON Schema of a kind of file, for editors",
                                  {"warploom schema > experiment.schema.json", "warploom schema device"});
  const auto kind = std::make_shared<std::string>("experiment");
  CLI::Option* argument =
      command->add_option("KIND", *kind, "the kind of file (experiment when left out)")->type_name("KIND");
  set_optional(argument);
  set_choices(argument, schema_names());
  command->callback(
      [&action, kind] { action = [kind](Session& session) { session.console.print(schema(*kind) + "\n"); }; });
}

}  // namespace warploom
