// SPDX-License-Identifier: Apache-2.0
// A captured run as Chakra execution traces: what each rank did as nodes, and what each waited for.
//
// Nodes are the rows of the captured program: the host's time up to a call that launches or has waited (COMP of the
// host, on its thread), kernels, copies and fills (COMP of the device, on their stream), collectives, sends and
// receives. Their data dependencies are those by which the capture is replayed: launch, stream order, events, waits of
// the host, a thread that took over from another.
//
// Two sets of times. `start_ns` and `duration_ns` are as recorded, on one clock for all ranks: from these our reader
// has the capture again and replays it. Simulators know no time between an end and what follows it, and let the members
// of a collective wait for each other themselves. For them `duration_micros` has the former folded in and the latter
// taken out: a kernel's holds the gap before it on its queue, the host's the launch latency (once; where it changes,
// the change), a wait's the latency after it; a collective's is its matched transfer. Whole microseconds are rounded so
// that sums of a stream stay.
#pragma once

#include <string>
#include <vector>

#include "traces/captured_run.hpp"
#include "traces/execution_graph.hpp"

namespace warploom {

struct ChakraExport {
  std::vector<ExecutionGraph> graphs;  // one a capture; `rank` is set
  std::string groups;                  // communicator groups as ASTRA-sim reads them, ids from 1; empty: none
  std::vector<std::string> notes;      // what these files do not hold, in sentences
};

// Throws UserError for two captures of one rank and for a run without operations of a device.
ChakraExport export_chakra(const CapturedRun& run);

}  // namespace warploom
