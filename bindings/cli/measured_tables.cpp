// SPDX-License-Identifier: Apache-2.0
// Where tables lie.
#include "bindings/cli/measured_tables.hpp"

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "sim/core/text.hpp"
#include "workloads/validation/table_kind.hpp"

namespace warploom {

std::string table_path(const std::string& given) {
  std::error_code ignored;
  if (std::filesystem::exists(given, ignored)) return given;
  const char* folder = std::getenv("WARPLOOM_DATA");
  if (folder == nullptr) return given;
  const auto in_folder = std::filesystem::path(folder) / given;
  return std::filesystem::exists(in_folder, ignored) ? in_folder.string() : given;
}

std::string known_table_kinds() {
  std::vector<std::string> names;
  for (const TableKind* kind : table_kinds()) names.emplace_back(kind->name());
  return join(names);
}

void refuse_overwriting(const std::string& output, const std::string& option, const std::string& input) {
  std::error_code differs;
  if (output.empty() || !std::filesystem::equivalent(output, input, differs)) return;
  throw UserError("`" + option + "` names " + warploom::quoted(input) + ", which is read", "write to another file");
}

}  // namespace warploom
