// SPDX-License-Identifier: Apache-2.0
// For a training step that does not fit: which single changes would make it fit.
#pragma once

#include <string>

#include "sim/core/units.hpp"
#include "workloads/training/training_job.hpp"

namespace warploom {

// The largest memory of any role when its rows run in program order, one after the other. (Played, communication that
// overlaps can hold a little more.)
Bytes peak_in_program_order(const Program& program);

// "these would fit: training.recompute: selective (61 GB), ..."
std::string memory_advice(const TrainingJob& job, Bytes usable);

}  // namespace warploom
