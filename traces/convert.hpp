// SPDX-License-Identifier: Apache-2.0
// Chakra traces from one of their forms to another, without a replay.
#pragma once

#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "traces/execution_graph.hpp"
#include "traces/readers.hpp"

namespace warploom {

// Where all traces that `paths` (files, folders, archives) hold are Chakra's: their graphs, by rank where all know it
// (else numbered in order). Empty where one is of another format. Throws UserError for what cannot be read.
std::vector<ExecutionGraph> read_chakra_alone(std::span<const std::string> paths, const ReadOptions& options = {});

// The JSON form, {"workload_graph": [...]}, times as decimal microseconds. Throws UserError when `out` fails.
void write_chakra_json(const ExecutionGraph& graph, std::ostream& out);

}  // namespace warploom
