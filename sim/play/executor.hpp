// SPDX-License-Identifier: Apache-2.0
// Plays a program on a machine: rows become ready, kernels share their device with running communication, bundles move.
#pragma once

#include <functional>

#include "sim/play/ports.hpp"
#include "sim/play/timeline.hpp"
#include "sim/work/program.hpp"

namespace warploom {

struct PlayOptions {
  // Called now and then with (rows done, rows in all); for progress on long runs.
  std::function<void(std::size_t, std::size_t)> progress;
};

// Is pure: same program, same machine, same timeline. Throws UserError for a kernel that a device cannot run and for a
// program that cannot end (a send without its receive, a cycle through meetings), naming the rows that wait.
Timeline play(const Program& program, const Machine& machine, const PlayOptions& options = {});

}  // namespace warploom
