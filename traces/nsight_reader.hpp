// SPDX-License-Identifier: Apache-2.0
// Reads SQLite exports of NVIDIA Nsight Systems (`nsys export --type sqlite`), one capture a process of the report.
#pragma once

#include <memory>

#include "traces/readers.hpp"

namespace warploom {

// Any SQLite file is recognised, Ascend's profiler databases among them: which it is stands in its tables, which the
// first bytes need not show. One that is neither is a UserError.
std::unique_ptr<const TraceReader> make_nsight_reader();

}  // namespace warploom
