// SPDX-License-Identifier: Apache-2.0
// A captured step in words and as JSON: what `warploom inspect TRACE...` says.
#pragma once

#include <string>
#include <string_view>

#include "traces/captured_run.hpp"

namespace warploom {

inline constexpr std::string_view captures_schema = "warploom.captures/1";

// Step by step and rank by rank: how long, how busy, what is not hidden, why it stood still, what took longest.
std::string captures_to_text(const CapturedRun& run);

// "host 40.1%, gemm 30.2%, ...": shares of a critical path that is `whole` long.
std::string critical_path_in_words(const std::array<Time, cause_count>& by_cause, Time whole);

// How well the run is understood, what was inferred and repaired.
std::string self_replay_in_words(const CapturedRun& run);

// `traces`: one object a file and process, `ranks`, `collectives`, `self_replay`, `repairs`, `edges`. Times are in
// microseconds with three decimals (`_us`); one that a double does not hold to the nanosecond is a string.
std::string captures_to_json(const CapturedRun& run, int indent = 2);

}  // namespace warploom
