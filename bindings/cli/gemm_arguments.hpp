// SPDX-License-Identifier: Apache-2.0
// Options of `warploom kernel gemm` that say which kernel runs: a name out of a profile, its grid, a table.
#pragma once

#include <string>
#include <vector>

#include "bindings/cli/command.hpp"
#include "sim/work/kernel.hpp"

namespace warploom {

struct GemmArguments {
  std::string kernel_name;
  std::string grid;
  std::string selection;

  // What `--selection` sets in the device.
  std::vector<std::string> overrides() const;
  // With what the name and the grid show. Throws UserError, also where sizes say the same in another way.
  Kernel with_name(const Kernel& kernel) const;
};

void add_gemm_arguments(CLI::App* command, GemmArguments& arguments);

}  // namespace warploom
