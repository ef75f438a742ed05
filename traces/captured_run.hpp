// SPDX-License-Identifier: Apache-2.0
// Captures of one run, read and understood: what every command about traces begins with.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "traces/captured_program.hpp"
#include "traces/metrics.hpp"
#include "traces/readers.hpp"
#include "traces/self_replay.hpp"

namespace warploom {

struct CapturedRun {
  std::vector<Capture> captures;
  std::vector<std::string> skipped;  // files that are no traces
  std::vector<CaptureGraph> graphs;
  Matching matching;
  CapturedProgram captured;
  Timeline timeline;  // of the unchanged replay
  SelfReplay self;
  Repairs repairs;   // of all stages
  EdgeCounts edges;  // of all captures
};

// Why predictions from this run are rough, in sentences; empty: nothing speaks against them. A span that is off by more
// than 2%, starts by more than 1 ms in the median, ranks that hold different steps, collectives whose peers were not
// captured.
std::vector<std::string> doubts(const CapturedRun& run);

// Which rank kept the others waiting.
struct Lateness {
  std::uint32_t capture = 0;
  std::int64_t last = 0;          // collectives to which it came last
  Nanoseconds others_waited = 0;  // for it, over all of them: from the arrival of each to its own
  Nanoseconds waited = 0;         // itself for others
};

// Of captures that are read, joined and classified. Throws UserError for ranks that appear twice.
CapturedRun understand(ReadTraces read, const InferenceOptions& inference = {});

// Throws UserError for what cannot be read, too.
CapturedRun understand(std::span<const std::string> paths, const ReadOptions& options = {},
                       const InferenceOptions& inference = {});

// By how long others waited, the worst first; empty without matched collectives.
std::vector<Lateness> find_stragglers(const CapturedRun& run);

}  // namespace warploom
