// SPDX-License-Identifier: Apache-2.0
// Finding library files by name.
#include "sim/core/library.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"
#include "sim/core/version.hpp"

namespace warploom {

namespace fs = std::filesystem;

namespace {

constexpr int deepest_folder = 5;
constexpr std::size_t most_entries = 100'000;

std::string_view without_extension(std::string_view name, std::string_view extension) {
  if (name.size() > extension.size() && name.ends_with(extension)) name.remove_suffix(extension.size());
  return name;
}

// Names stay inside the roots.
bool is_sane(std::string_view name) {
  if (name.empty() || name.front() == '/' || name.size() > 500) return false;
  const auto parts = split(name, '/');
  return std::none_of(parts.begin(), parts.end(),
                      [](const std::string& part) { return part.empty() || part == "." || part == ".."; });
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

}  // namespace

Library Library::from_environment() { return Library(library_roots()); }

std::vector<LibraryEntry> Library::entries(std::string_view extension) const {
  std::vector<LibraryEntry> result;
  std::set<std::string> seen;
  std::size_t visited = 0;
  for (const std::string& root : roots_) {
    std::error_code error;
    fs::recursive_directory_iterator it(root, fs::directory_options::skip_permission_denied, error);
    for (; !error && it != fs::recursive_directory_iterator() && ++visited < most_entries; it.increment(error)) {
      if (it.depth() >= deepest_folder) it.disable_recursion_pending();
      if (it->path().extension() != extension || !is_file(it->path())) continue;
      std::string name = it->path().lexically_relative(root).generic_string();
      name = std::string(without_extension(name, extension));
      if (seen.insert(name).second) result.push_back({std::move(name), it->path().string()});
    }
  }
  std::sort(result.begin(), result.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return result;
}

std::vector<LibraryEntry> Library::find(std::string_view name, std::string_view extension) const {
  name = without_extension(name, extension);
  if (!is_sane(name)) return {};
  for (const std::string& root : roots_) {
    const fs::path path = fs::path(root) / (std::string(name) + std::string(extension));
    if (is_file(path)) return {{std::string(name), path.string()}};
  }
  std::vector<LibraryEntry> result;
  if (name.find('/') != std::string_view::npos) return result;
  const std::string tail = "/" + std::string(name);
  for (LibraryEntry& entry : entries(extension)) {
    if (entry.name.ends_with(tail)) result.push_back(std::move(entry));
  }
  return result;
}

Library::Problem Library::problem(std::string_view name, const std::vector<LibraryEntry>& found,
                                  std::string_view extension) const {
  if (!found.empty()) {
    std::vector<std::string> names;
    for (const LibraryEntry& entry : found) names.push_back("`" + entry.name + "`");
    return {warploom::quoted(name) + " is in several folders of the library: " + join(names),
            "say which, with its folder"};
  }
  // Compare with whole names and with the last part of each.
  const std::string_view wanted = without_extension(name, extension);
  const bool has_folder = wanted.find('/') != std::string_view::npos;
  std::vector<std::string> names;
  std::vector<std::string> tails;
  for (const LibraryEntry& entry : entries(extension)) {
    names.push_back(entry.name);
    tails.push_back(entry.name.substr(entry.name.rfind('/') + 1));
  }
  std::string hint;
  if (roots_.empty()) {
    hint = "there is no library folder: set WARPLOOM_CONFIGS";
  } else if (const auto near = nearest_name(wanted, has_folder ? names : tails)) {
    hint = "did you mean `" + *near + "`?";
  } else if (const auto tail = nearest_name(wanted.substr(wanted.rfind('/') + 1), tails)) {
    const auto at = std::find(tails.begin(), tails.end(), *tail) - tails.begin();
    hint = "did you mean `" + names[static_cast<std::size_t>(at)] + "`?";
  } else {
    hint = "`warploom list` shows the library; a file beside this one is written `./name.yaml`";
  }
  return {"nothing in the library is called " + warploom::quoted(name), hint};
}

std::string Library::path_of(std::string_view name, std::string_view extension) const {
  const auto found = find(name, extension);
  if (found.size() == 1) return found.front().path;
  const Problem p = problem(name, found, extension);
  throw UserError(p.message, p.hint);
}

std::string display_path(const std::string& path) {
  std::error_code error;
  const fs::path here = fs::current_path(error);
  if (error || !fs::path(path).is_absolute()) return path;
  const fs::path relative = fs::path(path).lexically_normal().lexically_relative(here);
  std::string text = relative.generic_string();
  if (text.empty() || text.starts_with("..")) return path;
  return text;
}

}  // namespace warploom
