// SPDX-License-Identifier: Apache-2.0
// Files go to a hidden folder inside the target; renames make them visible together.
#include "bindings/cli/output_folder.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"

namespace warploom {

namespace fs = std::filesystem;

namespace {

UserError cannot_write(const fs::path& path, const std::string& reason) {
  return UserError("`--out`: cannot write to " + warploom::quoted(path.string()) + ": " + reason,
                   "choose another folder");
}

// The files so far, and the folders that were made for them unless others have used them.
void remove_unfinished(const fs::path& staging, const std::vector<fs::path>& made) noexcept {
  std::error_code ignored;
  if (!staging.empty()) fs::remove_all(staging, ignored);
  std::for_each(made.rbegin(), made.rend(), [&](const fs::path& path) { fs::remove(path, ignored); });
}

}  // namespace

OutputFolder::OutputFolder(const std::string& path, std::vector<std::string> names, Interrupts& interrupts)
    : folder_(path), names_(std::move(names)), interrupts_(interrupts) {
  if (path.empty()) throw UserError("`--out`: the folder has no name");
  try {
    interrupts_.uninterrupted([this] {
      make_folders();
      refuse_folders_in_the_way();
      std::string pattern = (folder_ / ".warploom-XXXXXX").string();
      if (::mkdtemp(pattern.data()) == nullptr) throw cannot_write(folder_, std::strerror(errno));
      staging_ = pattern;
      // With copies: this thread goes on until the process ends.
      interrupts_.set_undo([staging = staging_, made = made_] { remove_unfinished(staging, made); });
    });
  } catch (...) {
    interrupts_.uninterrupted([this] { undo(); });
    throw;
  }
}

OutputFolder::~OutputFolder() {
  interrupts_.uninterrupted([this] { undo(); });
}

void OutputFolder::make_folders() {
  fs::path made;
  for (const fs::path& part : folder_.lexically_normal()) {
    made /= part;
    std::error_code error;
    if (made.empty() || fs::is_directory(made, error)) continue;
    if (fs::create_directory(made, error)) made_.push_back(made);
    std::error_code ignored;
    if (fs::is_directory(made, ignored)) continue;
    if (fs::exists(made, ignored)) throw cannot_write(folder_, warploom::quoted(made.string()) + " is a file");
    throw cannot_write(folder_, error.message());
  }
}

void OutputFolder::refuse_folders_in_the_way() const {
  for (const std::string& name : names_) {
    std::error_code ignored;
    if (fs::is_directory(folder_ / name, ignored))
      throw cannot_write(folder_ / name, "a folder of that name is in the way");
  }
}

void OutputFolder::write(std::string_view name, const std::function<void(std::ostream&)>& content) {
  WARPLOOM_CHECK(std::find(names_.begin(), names_.end(), name) != names_.end(), "file `{}` was not announced", name);
  const fs::path path = staging_ / name;
  errno = 0;
  std::ofstream file;
  // No new file while an interrupt removes them.
  interrupts_.uninterrupted([&] { file.open(path, std::ios::binary); });
  content(file);
  file.close();
  if (!file) throw cannot_write(folder_ / name, errno != 0 ? std::strerror(errno) : "the file is not complete");
  written_.emplace_back(name);
}

void OutputFolder::write(std::string_view name, std::string_view text) {
  write(name, [text](std::ostream& out) { out << text; });
}

void OutputFolder::commit() {
  interrupts_.uninterrupted([this] {
    for (const std::string& name : names_) {
      const bool is_new = std::find(written_.begin(), written_.end(), name) != written_.end();
      std::error_code error;
      if (is_new) {
        fs::rename(staging_ / name, folder_ / name, error);
      } else {
        fs::remove(folder_ / name, error);
      }
      if (error) throw cannot_write(folder_ / name, error.message());
    }
    std::error_code ignored;
    fs::remove_all(staging_, ignored);
    staging_.clear();
    made_.clear();
    interrupts_.set_undo({});
  });
}

void OutputFolder::undo() noexcept {
  remove_unfinished(staging_, made_);
  staging_.clear();
  made_.clear();
  interrupts_.set_undo({});
}

}  // namespace warploom
