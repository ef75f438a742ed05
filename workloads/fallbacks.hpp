// SPDX-License-Identifier: Apache-2.0
// What a run took from elsewhere than it was told to: kernels that a measured table does not know.
#pragma once

#include <string>
#include <vector>

#include "sim/play/ports.hpp"
#include "sim/work/program.hpp"

namespace warploom {

// One line a kernel family, with how many operations and different shapes it concerns; empty where all was known.
std::vector<std::string> kernel_fallbacks(const Program& program, const Machine& machine);

}  // namespace warploom
