// SPDX-License-Identifier: Apache-2.0
// Parts of captured runs as JSON, shared by what inspects and what replays them.
#pragma once

#include <nlohmann/json.hpp>

#include "traces/captured_run.hpp"

namespace warploom {

// Microseconds; a string where a double does not hold the nanosecond (an epoch in nanoseconds).
nlohmann::ordered_json microseconds(Nanoseconds time);

nlohmann::ordered_json repairs_json(const Repairs& repairs);
nlohmann::ordered_json edges_json(const EdgeCounts& edges);
nlohmann::ordered_json ranks_json(const SelfReplay& self);
// One capture, by the names of Holistic Trace Analysis' quantities.
nlohmann::ordered_json capture_json(const Capture& capture, const CaptureMetrics& metrics);

}  // namespace warploom
