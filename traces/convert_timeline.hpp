// SPDX-License-Identifier: Apache-2.0
// Captures as they were recorded, for ui.perfetto.dev and for spreadsheets.
#pragma once

#include <ostream>
#include <span>
#include <vector>

#include "traces/capture.hpp"
#include "traces/perfetto_writer.hpp"

namespace warploom {

// A process a capture, a track a stream of its device and a thread of its host; what overlaps on a stream stands on
// tracks beside it, what hosts did within something else stands below that. Arrows lead from a launch to (the first of)
// what it launched. Zero is the earliest event of all; ranks stand to each other as their files' clocks say (where all
// say how theirs leads to the epoch). Throws UserError when `out` fails.
void write_capture_timeline(const std::vector<Capture>& captures, std::ostream& out);

// The same, where zero is known by capture, on its own clock: what began before is cut off. For pictures beside it.
void write_capture_timeline(const std::vector<Capture>& captures, std::span<const Nanoseconds> zeros, std::ostream& out,
                            const PerfettoPart& part);

// A line an operation of a device, RFC 4180. Throws UserError when `out` fails and for a time beyond 64 bits.
void write_capture_csv(const std::vector<Capture>& captures, std::ostream& out);

}  // namespace warploom
