// SPDX-License-Identifier: Apache-2.0
// Writes a timeline as a Perfetto trace (ui.perfetto.dev): roles are processes, streams threads, messages arrows.
//
// A slice is a row that takes time or belongs to a meeting; its category is its cause, its arguments are phase, layer
// and micro-batch, for kernels what sharing cost (`alone_ns` where it differs from the duration), for communication the
// algorithm, the bytes and how long it waited for its last party. Counters show what every role holds, in all and by
// the parts that change. Times are picoseconds rounded down to nanoseconds, so slices of a stream never overlap.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "sim/play/timeline.hpp"
#include "sim/work/program.hpp"

namespace warploom {

// Packet by packet: memory does not grow with the size of the trace (but for a few bytes a row). Throws UserError when
// `out` fails.
void write_perfetto(const Program& program, const Timeline& timeline, std::ostream& out);

// A picture that is no program: lanes (threads) of a group (a process) with spans, in nanoseconds of the trace.
struct LaneSpan {
  std::size_t lane = 0;
  std::string what;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

struct LaneGroup {
  std::string name;
  std::vector<std::string> lanes;
  std::vector<LaneSpan> spans;  // in any order; those that overlap get tracks of their own
};

// Throws UserError when `out` fails.
void write_perfetto(const std::vector<LaneGroup>& groups, std::ostream& out);

}  // namespace warploom
