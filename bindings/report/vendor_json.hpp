// SPDX-License-Identifier: Apache-2.0
// What reports of Nsight Systems and profiles of Ascend say beyond a capture: by the vendors' own names.
#pragma once

#include <nlohmann/json.hpp>

#include <span>

#include "traces/captured_run.hpp"

namespace warploom {

// One report: its rows, and per device what all its processes did there. `captures`: those of one file.
nlohmann::ordered_json nsight_json(std::span<const Capture* const> captures);

// Added to a capture's object: the step as Ascend's step_trace_time.csv counts it, tasks by stream and core.
void add_ascend(const Capture& capture, const CaptureMetrics& metrics, nlohmann::ordered_json& json);

}  // namespace warploom
