// SPDX-License-Identifier: Apache-2.0
// How well a captured run is understood: its own program, played unchanged, against what was captured.
#pragma once

#include <optional>
#include <vector>

#include "sim/play/timeline.hpp"
#include "traces/captured_program.hpp"
#include "traces/intervals.hpp"

namespace warploom {

struct RankReplay {
  std::optional<std::int64_t> rank;
  Interval measured;  // first start to last end of work, on the capture's clock
  Interval replayed;
  Nanoseconds start_error_p50 = 0;  // of the operations' starts, on the common clock
  Nanoseconds start_error_p95 = 0;
  Nanoseconds start_error_max = 0;
  Nanoseconds exposed_communication = 0;  // replayed: waiting and transfer where nothing computes

  // (replayed - measured) / measured.
  double span_error() const;
};

struct SelfReplay {
  std::vector<RankReplay> ranks;  // those with work
  double error = 0;               // the largest |span_error|
};

// `timeline` is of `captured.program`.
SelfReplay compare_with_capture(const std::vector<Capture>& captures, const CapturedProgram& captured,
                                const Timeline& timeline);

// Of a capture in any play of its program: communication, waiting included, where no kernel computes.
Nanoseconds exposed_communication(const Capture& capture, std::span<const RowId> row_of_op, const Timeline& timeline);

// Plays it as it is.
Timeline play_as_captured(const Program& program);

}  // namespace warploom
