// SPDX-License-Identifier: Apache-2.0
// Joins device operations with the calls that launched them and with the operators that these stand for.
#pragma once

#include <cstdint>

#include "traces/capture.hpp"
#include "traces/key_index.hpp"

namespace warploom {

// What the join found. One call may own hundreds of operations (a graph launch); an operation may have no call (it was
// launched before the window).
struct LaunchLinks {
  std::int64_t without_call = 0;    // device operations that no call launched
  std::int64_t repeated_calls = 0;  // calls whose correlation another call has already
  std::int64_t graph_launches = 0;  // calls that own operations of a graph
  std::int64_t from_graphs = 0;     // operations that such calls own
};

// Sorts device operations by (start, longest first, as read), calls and operators by (thread, start, longest first);
// joins by correlation within the capture, operators by external id, else by containment on the thread. Idempotent.
void link_launches(Capture& capture);
// Places of the calls that have a correlation; of several with the same, the first.
KeyIndex calls_by_correlation(const Capture& capture);
// What a joined capture holds of each.
LaunchLinks count_links(const Capture& capture);

}  // namespace warploom
