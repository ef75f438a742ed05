// SPDX-License-Identifier: Apache-2.0
// A kernel's program written as text, for microbenchmarks: docs/programs.md has the format.
#pragma once

#include <string>
#include <string_view>

#include "hw_models/device.hpp"
#include "hw_models/programs/kernel_program.hpp"

namespace warploom {

struct ProgramTextLimits {
  std::size_t bytes = 1 << 20;
  std::size_t instructions = 20'000;
  double executed = 2e7;  // of one warp, loops unrolled
};

// Throws ConfigError with all mistakes, each with its line; `name` stands for the file.
KernelProgram parse_program(std::string_view text, const std::string& name, const ProgramTextLimits& limits = {});

// Throws UserError for a file that cannot be read or is too large.
KernelProgram load_program(const std::string& path);

// Throws UserError where the program uses what the device's SMs do not have.
void require_instructions(const KernelProgram& program, const DeviceSpec& device);

}  // namespace warploom
