// SPDX-License-Identifier: Apache-2.0
// A played ASTRA-sim experiment, as text and as JSON.
#pragma once

#include <string>

#include "workloads/astra_sim/play.hpp"

namespace warploom {

std::string to_text(const AstraSimResult& result);
// Times in ns (ASTRA-sim's cycles): `ranks` (`rank`, `finish_ns`, ...), `makespan_ns`, `self_replay_error` is null:
// what was measured is not in these files.
std::string to_json(const AstraSimResult& result);

}  // namespace warploom
