// SPDX-License-Identifier: Apache-2.0
// Writes execution graphs as Chakra `.et`, as ASTRA-sim reads them: attributes and types as its feeder expects.
//
// duration_micros is the duration to the nearest microsecond, but 1 for what takes less (0 means unknown there); what
// that loses stands beside it as duration_ns (int64), which our reader takes. The same for start times. Where the graph
// has folded durations, duration_micros is those.
#pragma once

#include <ostream>
#include <string>

#include "traces/execution_graph.hpp"

namespace warploom {

// Throws UserError where the stream does not take it.
void write_chakra(const ExecutionGraph& graph, std::ostream& out);
// PREFIX.RANK.et. Throws UserError for a file that cannot be written.
void write_chakra_file(const ExecutionGraph& graph, const std::string& path);

}  // namespace warploom
