// SPDX-License-Identifier: Apache-2.0
// What the host's threads did, as far as the devices feel it: calls that launch and calls that block.
#pragma once

#include "traces/dependencies.hpp"
#include "traces/launch_order.hpp"

namespace warploom {

// Fills `steps`, `waits`, `step_of_call` and counts what it found.
void find_host_steps(const Capture& capture, const LaunchOrder& order, bool guess_hand_offs, CaptureGraph& graph);

}  // namespace warploom
