// SPDX-License-Identifier: Apache-2.0
// What waited for what in a captured run: launches, queues, events, synchronisation, threads that hand over.
//
// In order of trust (Lumos 2025 and HTA's critical path know the same relations):
//   recorded   a launch and its operation (by correlation); an event's record and wait, a synchronisation and its
//   stream
//              where the capture holds them (cuda_sync, nsys' tables, Ascend's device tasks);
//   order      a stream runs in order where its operations did not overlap; a thread runs its calls one after another,
//              and the time between two calls is its think time;
//   inferred   where a capture has no record of events: a stream-wait call makes the operation that is launched next
//              wait for what the other streams were given before it; a blocking call waited for the operation that
//              ended last before it returned; a thread that was silent begins after what another did last.
// An inferred edge that the capture contradicts (what it waits for ended later than it began) is dropped and counted:
// so no guess can make an unchanged replay slower than the capture. All edges lead forward in recorded time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "traces/capture.hpp"
#include "traces/lags.hpp"

namespace warploom {

struct OpEdge {
  std::uint32_t from = 0;  // operation: its end
  std::uint32_t to = 0;    // operation: its start
  bool is_recorded = false;
};

// A call that matters: it launches something or blocks. What a thread does between two of them is think time.
struct HostStep {
  std::uint32_t call = 0;
  // The thread was silent and took over from another: it begins `think` after that step's start, whatever its own
  // thread did before.
  std::uint32_t handed_by = nothing;  // in `steps`
  Nanoseconds think = 0;              // from the start of the step before (its end where that blocked) to this one's
  std::uint32_t blocked = nothing;    // in `returns`: of a call that blocks

  bool blocks() const { return blocked != nothing; }
};

// A blocking call returns `hold` after all of its waits have ended (and after it was made).
struct HostReturn {
  Nanoseconds hold = 0;
  std::uint32_t first_wait = 0;  // in `waits`
  std::uint32_t wait_count = 0;
};

struct EdgeCounts {
  std::int64_t recorded = 0;
  std::int64_t ordered = 0;
  std::int64_t inferred = 0;
  std::int64_t contradicted = 0;  // inferred and dropped
  std::int64_t timed_gaps = 0;    // begins that nothing explains: kept at their recorded time
};

struct CaptureGraph {
  std::vector<std::uint32_t> before;  // by operation: the one before it on its stream, or `nothing`
  std::vector<OpEdge> edges;          // by `to`
  std::vector<HostStep> steps;        // by thread, then time
  std::vector<HostReturn> returns;    // of the steps that block
  std::vector<std::uint32_t> waits;   // operations
  std::vector<std::uint32_t> step_of_call;
  Nanoseconds begin = 0;  // of the first event of the capture; 0: there is none
  LagModel lags;
  EdgeCounts counts;

  // Of a step that blocks.
  const HostReturn& return_of(const HostStep& step) const { return returns[step.blocked]; }
  std::span<const std::uint32_t> waits_of(const HostStep& step) const {
    return std::span(waits).subspan(return_of(step).first_wait, return_of(step).wait_count);
  }
};

struct InferenceOptions {
  bool events = true;     // guess what stream-wait calls waited for, where no record says so
  bool hand_offs = true;  // guess which thread a silent one took over from
};

// Of a joined capture.
CaptureGraph find_dependencies(const Capture& capture, const InferenceOptions& options = {});

// Times that lie nearer than this cannot be told apart.
inline Nanoseconds tolerance(const Capture& capture) { return capture.resolution >= 1000 ? 2 * capture.resolution : 0; }

}  // namespace warploom
