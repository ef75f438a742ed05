// SPDX-License-Identifier: Apache-2.0
// Kernels of a captured run by name, before and after: where a prediction's gain comes from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/captured_run.hpp"

namespace warploom {

struct KernelChange {
  std::string name;  // as captured
  OpClass op_class = OpClass::other;
  std::int64_t count = 0;     // over all captures
  Nanoseconds measured = 0;   // sum of durations; of communication, what its transfer takes without waiting for peers
  Nanoseconds predicted = 0;  // the same on the target, slowed down by what runs beside it
};

// Of every name that does work, those that take longest (before or after) first.
std::vector<KernelChange> kernel_changes(const CapturedRun& run, const CapturedProgram& captured,
                                         const Timeline& timeline);

}  // namespace warploom
