// SPDX-License-Identifier: Apache-2.0
// Where tables lie.
#include "bindings/cli/measured_tables.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <vector>

#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"
#include "workloads/validation/table_kind.hpp"

namespace warploom {

namespace {

namespace fs = std::filesystem;

// Names of tables in the folder itself and in its subfolders, as seen from it.
std::vector<std::string> tables_in(const fs::path& folder) {
  constexpr std::size_t most = 10'000;
  std::vector<std::string> names;
  std::error_code error;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && at != fs::recursive_directory_iterator() && names.size() < most; at.increment(error)) {
    std::error_code ignored;
    if (at.depth() >= 1) at.disable_recursion_pending();
    if (at->is_regular_file(ignored)) names.push_back(at->path().lexically_relative(folder).generic_string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string last_part(const std::string& name) { return name.substr(name.rfind('/') + 1); }

UserError nowhere(const std::string& given, const std::string& folder, const std::vector<std::string>& names) {
  std::string hint = "looked for here and in " + warploom::quoted(folder) + " (WARPLOOM_DATA) and its folders";
  std::vector<std::string> tails;
  for (const std::string& name : names) tails.push_back(last_part(name));
  if (const auto near = nearest_name(last_part(given), tails)) {
    const auto index = std::find(tails.begin(), tails.end(), *near) - tails.begin();
    hint += "; did you mean `" + names[static_cast<std::size_t>(index)] + "`?";
  }
  return UserError("there is no file " + warploom::quoted(given), hint);
}

}  // namespace

std::string table_path(const std::string& given) {
  std::error_code ignored;
  if (fs::exists(given, ignored) || fs::path(given).is_absolute()) return given;
  const char* folder = std::getenv("WARPLOOM_DATA");
  if (folder == nullptr || *folder == 0) return given;
  const fs::path direct = fs::path(folder) / given;
  if (fs::exists(direct, ignored)) return direct.string();
  const std::vector<std::string> names = tables_in(folder);
  std::vector<std::string> found;
  std::copy_if(names.begin(), names.end(), std::back_inserter(found),
               [&](const std::string& name) { return name.ends_with("/" + given); });
  if (found.empty()) throw nowhere(given, folder, names);
  if (found.size() > 1)
    throw UserError(warploom::quoted(given) + " is in several folders of WARPLOOM_DATA: " + join(found),
                    "say which, with its folder");
  return (fs::path(folder) / found.front()).string();
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
