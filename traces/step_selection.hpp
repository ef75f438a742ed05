// SPDX-License-Identifier: Apache-2.0
// One step of a capture that holds several.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/capture.hpp"

namespace warploom {

// Keeps what the step ProfilerStep#`step` did: the calls and operators that began within it, what they launched, and
// operations without a launch that began while those ran. Captures are linked and classified, and are so again. Throws
// UserError naming the steps that are there where a capture lacks this one.
void keep_step(std::vector<Capture>& captures, std::int64_t step);

}  // namespace warploom
