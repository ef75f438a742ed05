// SPDX-License-Identifier: Apache-2.0
// The round algorithms that a level can have, by name.
#pragma once

#include "network/collectives/rounds/round_algorithm.hpp"

namespace warploom {

// Not `none`.
const RoundAlgorithm& round_algorithm(LevelAlgorithm name);

}  // namespace warploom
