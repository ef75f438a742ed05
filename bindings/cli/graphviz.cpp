// SPDX-License-Identifier: Apache-2.0
// The program is started without a shell, so that no name is taken for a command.
#include "bindings/cli/graphviz.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "sim/core/errors.hpp"

extern char** environ;

namespace warploom {

namespace {

// A file of its own that goes with its owner.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text) {
    std::error_code error;
    const auto folder = std::filesystem::temp_directory_path(error);
    path_ = ((error ? std::filesystem::path("/tmp") : folder) / "warploom-XXXXXX").string();
    const int descriptor = mkstemp(path_.data());
    if (descriptor < 0) throw UserError(fmt::format("cannot write a temporary file `{}`", path_));
    close(descriptor);
    std::ofstream(path_) << text;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  const std::string& path() const { return path_; }
  std::string first_line() const {
    std::string line;
    std::ifstream file(path_);
    std::getline(file, line);
    return line;
  }

 private:
  std::string path_;
};

}  // namespace

void render_svg(const std::string& program, const std::string& dot, const std::string& path) {
  const TemporaryFile input(dot);
  std::string name = program;
  std::string type = "-Tsvg";
  std::string output = "-o" + path;
  std::string from = input.path();
  char* arguments[] = {name.data(), type.data(), output.data(), from.data(), nullptr};
  const TemporaryFile complaint("");
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, complaint.path().c_str(), O_WRONLY | O_TRUNC, 0);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, name.c_str(), &files, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) {
    throw UserError(fmt::format("cannot start `{}` of Graphviz: {}", program, std::generic_category().message(failed)),
                    "install it (Debian: apt install graphviz), or write its language with `--dot FILE`");
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw UserError(fmt::format("`{}` of Graphviz could not write `{}`", program, path),
                    "it says: " + complaint.first_line());
}

}  // namespace warploom
