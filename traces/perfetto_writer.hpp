// SPDX-License-Identifier: Apache-2.0
// Writes a timeline as a Perfetto trace (ui.perfetto.dev): roles are processes, streams threads, messages arrows.
//
// A slice is a row that takes time or belongs to a meeting; its category is its cause, its arguments are phase, layer
// and micro-batch, for kernels what sharing cost (`alone_ns` where it differs from the duration), for communication the
// algorithm, the bytes and how long it waited for its last party. Counters show what every role holds, in all and by
// the parts that change. Times are picoseconds rounded down to nanoseconds, so slices of a stream never overlap.
#pragma once

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "sim/play/timeline.hpp"
#include "sim/work/program.hpp"

namespace warploom {

// A file may hold several pictures one after another: their tracks, arrows and interned texts are apart when their
// numbers differ.
struct PerfettoPart {
  std::uint32_t number = 1;
  std::string suffix;  // of the processes' names
};

// Packet by packet: memory does not grow with the size of the trace (but for a few bytes a row). Throws UserError when
// `out` fails.
void write_perfetto(const Program& program, const Timeline& timeline, std::ostream& out, const PerfettoPart& part = {});

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

// A slice of a captured run, nanoseconds of the trace.
struct CapturedSlice {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::string_view name;
  std::string_view category;
  std::uint64_t starts_flow = 0;  // an arrow from here to the slice that ends it; 0: none
  std::uint64_t ends_flow = 0;
};

// Captured runs, lane by lane, so that no more than one is held.
class CapturedSlices {
 public:
  explicit CapturedSlices(std::ostream& out, const PerfettoPart& part = {});
  ~CapturedSlices();
  CapturedSlices(const CapturedSlices&) = delete;
  CapturedSlices& operator=(const CapturedSlices&) = delete;

  void add_process(const std::string& name);
  // In any order; they are sorted. Those that overlap get tracks of their own, except that one within another stands on
  // its track where `nest`.
  void add_lane(const std::string& name, std::vector<CapturedSlice>& slices, bool nest);
  // Throws UserError when the stream fails.
  void finish();

 private:
  class Writer;
  std::ostream& out_;
  std::unique_ptr<Writer> writer_;
};

}  // namespace warploom
