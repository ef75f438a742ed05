// SPDX-License-Identifier: Apache-2.0
// Standard output and standard error, with the answers that a library cannot give: is it a terminal, is it still open.
#pragma once

#include <stdexcept>
#include <string_view>

namespace warploom {

// Whoever read our output has gone (`warploom list | head -1`): stop, and say nothing.
class OutputClosed : public std::runtime_error {
 public:
  static constexpr int exit_code = 141;  // 128 + SIGPIPE, as if the signal had done it
  OutputClosed() : std::runtime_error("standard output is closed") {}
};

class Console {
 public:
  explicit Console(int output = 1, int errors = 2) : output_(output), errors_(errors) {}

  // Writes all of it or throws: OutputClosed, or UserError with the reason (a full disk, a closed descriptor).
  void print(std::string_view text) const;
  // To standard error; who cannot be told is not told.
  void tell(std::string_view text) const noexcept;
  bool tells_a_terminal() const;

 private:
  int output_;
  int errors_;
};

// Descriptors 0 to 2 that are closed get /dev/null the wrong way round, so that no file we open takes their number and
// using them still fails as it should.
void occupy_standard_descriptors();

}  // namespace warploom
