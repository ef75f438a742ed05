// SPDX-License-Identifier: Apache-2.0
// Temporary files beside their places, and what removes them again.
#include "sim/core/whole_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "sim/core/errors.hpp"
#include "sim/core/text.hpp"

namespace warploom {

namespace fs = std::filesystem;

namespace {

class StagedFile {
 public:
  StagedFile(const std::string& path, std::string_view text) : path_(path), staged_(path + ".warploom-tmp") {
    errno = 0;
    std::ofstream file(staged_, std::ios::binary | std::ios::trunc);
    file << text;
    file.close();
    if (!file) {
      const std::string reason = errno != 0 ? std::strerror(errno) : "unknown reason";
      remove();
      throw UserError(fmt::format("cannot write {}: {}", warploom::quoted(path), reason));
    }
    std::error_code ignored;
    const auto status = fs::status(path, ignored);
    if (fs::exists(status)) fs::permissions(staged_, status.permissions(), ignored);
  }
  StagedFile(StagedFile&& other) noexcept : path_(std::move(other.path_)), staged_(std::move(other.staged_)) {
    other.staged_.clear();
  }
  StagedFile& operator=(StagedFile&&) = delete;
  ~StagedFile() { remove(); }

  void commit() {
    std::error_code error;
    fs::rename(staged_, path_, error);
    if (error) throw UserError(fmt::format("cannot write {}: {}", warploom::quoted(path_), error.message()));
    staged_.clear();
  }

 private:
  void remove() noexcept {
    std::error_code ignored;
    if (!staged_.empty()) fs::remove(staged_, ignored);
  }

  std::string path_;
  std::string staged_;
};

}  // namespace

void write_whole_file(const std::string& path, std::string_view text) { StagedFile(path, text).commit(); }

void write_whole_files(const std::vector<std::pair<std::string, std::string>>& path_and_text) {
  std::vector<StagedFile> files;
  files.reserve(path_and_text.size());
  for (const auto& [path, text] : path_and_text) files.emplace_back(path, text);
  for (StagedFile& file : files) file.commit();
}

std::string read_whole_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) throw UserError("cannot read " + warploom::quoted(path));
  return text;
}

}  // namespace warploom
