// SPDX-License-Identifier: Apache-2.0
// A generated step laid on captures of the same step: what matches, what only one of them has, where the time differs.
//
// Computation and communication are aligned apart (workloads/overlay/align.hpp), each capture with the role of its
// rank. Of communication the transfer is compared: the least duration of all members of a matched collective, and in
// the model from the arrival of the last. Totals count it from each rank's own arrival, on both sides.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/play/timeline.hpp"
#include "sim/work/program.hpp"
#include "traces/captured_run.hpp"

namespace warploom {

struct OverlayOptions {
  std::optional<std::int64_t> step;  // number of a ProfilerStep; none: the one of median length
};

struct OverlaySide {
  std::int64_t count = 0;
  Nanoseconds time = 0;
};

struct OverlayClass {
  std::int64_t pairs = 0;
  std::int64_t same_shape = 0;  // of them, those whose shapes both sides know, and which are equal
  Nanoseconds trace = 0;        // of pairs
  Nanoseconds model = 0;
  OverlaySide only_trace;
  OverlaySide only_model;
  std::array<double, 3> ratio{};  // model over trace, of pairs that take time: 10%, 50% and 90% lie below
};

// Pairs of one operation of the model with one kernel.
struct OverlayGroup {
  std::string model;   // "qkv"
  std::string kernel;  // as in the trace
  OpClass op_class = OpClass::other;
  Phase phase = Phase::other;
  std::int64_t count = 0;
  std::int64_t same_shape = 0;
  Nanoseconds trace = 0;
  Nanoseconds model_time = 0;
  Nanoseconds difference() const { return model_time - trace; }
};

struct OverlayPair {
  std::int64_t rank = 0;
  std::uint32_t op = 0;  // of the rank's capture
  RowId row = 0;
  std::string model;
  std::string kernel;
  std::int32_t layer = -1;
  Nanoseconds trace = 0;
  Nanoseconds model_time = 0;
};

struct OverlayLayer {
  std::int32_t layer = 0;
  std::int64_t pairs = 0;
  Nanoseconds trace = 0;
  Nanoseconds model = 0;
};

// What only one side has, by name.
struct OverlayLone {
  std::string name;
  std::string operation;  // of the framework, in a trace that says so: "aten::add"
  OpClass op_class = OpClass::other;
  OverlaySide sum;
};

struct OverlayRank {
  std::optional<std::int64_t> rank;
  std::string file;
  std::string role;
  std::int64_t step = -1;  // number of the ProfilerStep; -1: the whole capture
  WindowMetrics trace;     // from the first to the last of the operations compared
  WindowMetrics model;
  OverlaySide trace_all;
  OverlaySide model_all;
  OverlaySide trace_paired;
  OverlaySide trace_same_shape;  // of them, with one whose shapes are known and equal
  OverlaySide model_paired;
};

struct Overlay {
  std::string experiment;
  bool is_forward_only = false;  // the captures hold no backward pass: laid on the model's forward passes
  bool is_one_pass = false;      // ... of its first micro-batch
  bool is_exact = true;          // false: too long for the best alignment; a good one
  std::vector<OverlayRank> ranks;
  std::array<OverlayClass, 7> classes;  // by OpClass, as the trace names them, over all ranks
  std::vector<OverlayGroup> groups;     // the largest difference first
  std::vector<OverlayPair> largest;     // 20 pairs, the largest difference first
  std::vector<OverlayLayer> layers;     // of the model
  std::vector<OverlayLone> only_trace;  // the longest first
  std::vector<OverlayLone> only_model;
  Nanoseconds waiting = 0;  // of the trace's communication: not transfer, and not compared
  std::vector<std::string> notes;

  // Of the compared operations' time: those that have a partner.
  double trace_coverage() const;
  double trace_coverage_by_shape() const;
  double model_coverage() const;
};

// Throws UserError where there is nothing to compare: no work on a device, no such step.
Overlay lay_over(const CapturedRun& run, const Program& program, const Timeline& timeline, std::string experiment,
                 const OverlayOptions& options = {});

}  // namespace warploom
