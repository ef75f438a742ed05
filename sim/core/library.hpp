// SPDX-License-Identifier: Apache-2.0
// The library: folders of configuration files that `use:` and the command line find by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace warploom {

struct LibraryEntry {
  std::string name;  // `clusters/dgx_h100`
  std::string path;  // the file
};

class Library {
 public:
  Library() = default;  // without folders: nothing is found
  explicit Library(std::vector<std::string> roots) : roots_(std::move(roots)) {}
  static Library from_environment();

  const std::vector<std::string>& roots() const { return roots_; }

  // All files with this extension, by name; where two roots have the same name the first root's.
  std::vector<LibraryEntry> entries(std::string_view extension = ".yaml") const;

  // The entries that a name means: exactly `clusters/dgx_h100`, or `dgx_h100` in whichever folders have it. A name
  // may end with the extension. Empty: unknown; more than one: ambiguous.
  std::vector<LibraryEntry> find(std::string_view name, std::string_view extension = ".yaml") const;

  // The one file that a name means; throws UserError with suggestions when there is none, or more than one.
  std::string path_of(std::string_view name, std::string_view extension = ".yaml") const;

  // What is wrong with an unknown or ambiguous name: message and hint, for callers with their own origin.
  struct Problem {
    std::string message;
    std::string hint;
  };
  Problem problem(std::string_view name, const std::vector<LibraryEntry>& found,
                  std::string_view extension = ".yaml") const;

 private:
  std::vector<std::string> roots_;
};

// A path as it is best shown: relative when it lies below the working directory.
std::string display_path(const std::string& path);

}  // namespace warploom
