// SPDX-License-Identifier: Apache-2.0
// The command `warploom`.
#include <unistd.h>

#include "bindings/cli/command_line.hpp"

int main(int argc, char** argv) {
  using namespace warploom;
  occupy_standard_descriptors();
  const Console console;
  Interrupts interrupts([&console](int exit_code) {
    console.tell("\nwarploom: interrupted\n");
    _exit(exit_code);  // nothing of us is left to tidy, and other threads must not go on
  });
  Session session{console, interrupts};
  return run_command_line({argv + (argc > 0 ? 1 : 0), argv + argc}, session);
}
