// SPDX-License-Identifier: Apache-2.0
// How sure a replay's prediction is.
#pragma once

#include "sim/core/library.hpp"
#include "workloads/replay/prediction.hpp"

namespace warploom {

// Fills `relative_error` and `error_of`: measured errors of the classes by what their prediction rests on, each with
// the share of the run that it fills, and what the dependencies leave unexplained. `is_edited`: by a what-if, whose own
// exactness nobody has measured. After everything else is there.
void estimate_error(const CapturedRun& run, bool is_edited, const Library& library, ReplayPrediction& prediction);

}  // namespace warploom
