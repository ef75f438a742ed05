// SPDX-License-Identifier: Apache-2.0
// Chakra traces among captured runs: an execution graph as a capture.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "traces/execution_graph.hpp"
#include "traces/readers.hpp"

namespace warploom {

// Nodes of the device become its operations, those of the host operators of their threads. Data dependencies between
// operations of the device are kept as such. Where not all start times are recorded (they rarely are), every node
// starts as early as its dependencies and its stream or thread let it; `facts["times"]` says so. Where they are, host
// nodes are also the calls that launched what waits for them, and those that waited for the device.
Capture capture_of(const ExecutionGraph& graph);

// "name.3.et", "name.3.json".
std::optional<std::int64_t> chakra_rank_in_name(std::string_view file);

std::unique_ptr<const TraceReader> make_chakra_reader();

}  // namespace warploom
