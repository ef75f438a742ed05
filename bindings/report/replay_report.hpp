// SPDX-License-Identifier: Apache-2.0
// A replay in words and as JSON: what `warploom replay TRACE...` says.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "traces/captured_run.hpp"
#include "workloads/replay/prediction.hpp"

namespace warploom {

inline constexpr std::string_view replay_schema = "warploom.replay/1";

std::string replay_to_text(const CapturedRun& run, const std::optional<ReplayPrediction>& prediction);

// `self_replay_error`, `ranks`, `repairs`, `edges`; with a prediction `predicted`: the step, its causes, what of it is
// anchored, modelled, scaled and kept, and the error band.
std::string replay_to_json(const CapturedRun& run, const std::optional<ReplayPrediction>& prediction, int indent = 2);

}  // namespace warploom
