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

[[noreturn]] void fail(const std::string& path, const std::string& reason) {
  throw UserError(fmt::format("cannot write {}: {}", warploom::quoted(path), reason));
}

void write_or_throw(const std::string& place, const std::string& shown, std::string_view text) {
  errno = 0;
  std::ofstream file(place, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) fail(shown, errno != 0 ? std::strerror(errno) : "unknown reason");
}

// Where a name leads to: a link keeps leading there.
std::string target_of(const std::string& path) {
  std::error_code error;
  const fs::path target = fs::canonical(path, error);
  return error ? path : target.string();
}

class StagedFile {
 public:
  StagedFile(const std::string& path, std::string_view text) : path_(path), target_(target_of(path)) {
    if (path == "-") throw UserError("`-` names no file to write to", "standard output is /dev/stdout");
    std::error_code ignored;
    const auto status = fs::status(target_, ignored);
    if (fs::is_directory(status)) fail(path, "it is a folder");
    // A terminal, a pipe or a device is written to, never replaced.
    if (fs::exists(status) && !fs::is_regular_file(status)) {
      direct_text_ = text;
      return;
    }
    staged_ = target_ + ".warploom-tmp";
    try {
      write_or_throw(staged_, path, text);
    } catch (...) {
      remove();
      throw;
    }
    if (fs::exists(status)) fs::permissions(staged_, status.permissions(), ignored);
  }
  StagedFile(StagedFile&& other) noexcept
      : path_(std::move(other.path_)),
        target_(std::move(other.target_)),
        staged_(std::move(other.staged_)),
        direct_text_(std::move(other.direct_text_)) {
    other.staged_.clear();
  }
  StagedFile& operator=(StagedFile&&) = delete;
  ~StagedFile() { remove(); }

  void commit() {
    if (staged_.empty()) return write_or_throw(target_, path_, direct_text_);
    std::error_code error;
    fs::rename(staged_, target_, error);
    if (error) fail(path_, error.message());
    staged_.clear();
  }

 private:
  void remove() noexcept {
    std::error_code ignored;
    if (!staged_.empty()) fs::remove(staged_, ignored);
  }

  std::string path_;    // as the user says it
  std::string target_;  // links followed
  std::string staged_;  // beside it; empty: written directly
  std::string direct_text_;
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
  constexpr std::uintmax_t most = std::uintmax_t{256} << 20;
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    throw UserError("cannot read " + warploom::quoted(path) + ": it is no regular file");
  if (!error && std::filesystem::exists(status) && std::filesystem::file_size(path, error) > most)
    throw UserError("cannot read " + warploom::quoted(path) + ": it has more than 256 MiB");
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) throw UserError("cannot read " + warploom::quoted(path));
  return text;
}

}  // namespace warploom
