// SPDX-License-Identifier: Apache-2.0
// Spans of a capture, in whole nanoseconds, as spans of a program, and back.
#pragma once

#include "sim/core/units.hpp"
#include "traces/capture.hpp"

namespace warploom {

// Rounded down.
inline Nanoseconds nanoseconds(Time time) { return time.ps() / 1000; }
// Throws OverflowError beyond 106 days.
inline Time recorded_time(Nanoseconds span) { return Time::picoseconds(1000) * span; }

}  // namespace warploom
