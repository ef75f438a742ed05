// SPDX-License-Identifier: Apache-2.0
// A captured run as a program: durations as recorded, starts from what waited for what.
//
// One role a capture, one stream a lane of a device stream and a thread. What a thread does on its own is time, not
// rows: operations are launched so long after the last call of the thread that waited for something. Such a call is a
// `think` row that takes what is left of it after its waits. An operation waits for its launch (and the launch
// latency), for the one before it on its stream (and the queue's gap) and for its events. What nothing explains keeps
// its recorded distance (EdgeCounts::timed_gaps). A collective of several ranks is a meeting that takes what its last
// member needed.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/work/program.hpp"
#include "traces/capture.hpp"
#include "traces/dependencies.hpp"
#include "traces/matching.hpp"

namespace warploom {

// A call that the target's network performs, in place of a recorded duration.
struct PlannedCall {
  Call call;           // its group is one of `groups`
  double stretch = 1;  // how many times as long as planned it takes
};

// What differs from the capture; empty vectors: nothing.
struct Retiming {
  std::vector<std::vector<Nanoseconds>> durations;  // by capture and operation
  std::vector<std::vector<Nanoseconds>> thinks;     // by capture and host step
  std::vector<std::vector<bool>> follows;           // by capture and operation: part of what runs before it
  // By capture and operation: it has no row; what waited for it waits for what it waited for.
  std::vector<std::vector<bool>> removed;
  // By capture, of an operation: a kernel of so long follows it on its stream.
  std::vector<std::unordered_map<std::uint32_t, Nanoseconds>> added;
  std::vector<std::optional<Nanoseconds>> starts;  // by capture: its first event after the run's, instead of its own
  std::vector<double> slow_downs;                  // by capture: of its kernels
  std::vector<std::optional<PlannedCall>> collectives;  // by matched collective
  std::vector<Group> groups;
  std::int64_t devices = 0;                   // of the network that `groups` count; 0: none
  std::int64_t devices_a_capture = 1;         // that each capture stands for: ranks 0 to n - 1
  std::int64_t replicas = 1;                  // of all of them, `devices` apart
  double think_scale = 1.0;                   // of the hosts' think times
  std::optional<Nanoseconds> launch_latency;  // instead of the capture's own
  bool graphs = false;                        // operations wait for no launch
  bool is_serial = false;                     // communication and compute one after another
  bool thread_rows = false;  // every step of a thread is a row (`rows_of_step`), for what needs them one by one
};

struct CapturedProgram {
  Program program;
  std::vector<std::vector<RowId>> row_of_op;                          // by capture and operation; `none`: removed
  std::vector<std::unordered_map<std::uint32_t, RowId>> added_after;  // by capture, of an operation (Retiming::added)
  // By capture and host step: the rows at whose end its call is made, and has returned (the same where none blocks).
  std::vector<std::vector<std::pair<RowId, RowId>>> rows_of_step;
  std::vector<Nanoseconds> origin;  // by capture: its own time that the program's zero stands for
  std::int64_t dropped_edges = 0;   // that led back in time
};

CapturedProgram make_program(const std::vector<Capture>& captures, const std::vector<CaptureGraph>& graphs,
                             const Matching& matching, const Retiming& retiming = {});

}  // namespace warploom
