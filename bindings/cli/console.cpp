// SPDX-License-Identifier: Apache-2.0
// Writes with write(2), so that every failure is seen at once.
#include "bindings/cli/console.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "sim/core/errors.hpp"

namespace warploom {

namespace {

// 0, or the error number of the write that failed.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

void Console::print(std::string_view text) const {
  const int error = write_all(output_, text);
  if (error == EPIPE) throw OutputClosed();
  if (error != 0) throw UserError(std::string("cannot write to standard output: ") + std::strerror(error));
}

void Console::tell(std::string_view text) const noexcept { write_all(errors_, text); }

bool Console::tells_a_terminal() const { return ::isatty(errors_) == 1; }

void occupy_standard_descriptors() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) continue;
    // The lowest free number is this one.
    if (::open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY) != descriptor) return;
  }
}

}  // namespace warploom
