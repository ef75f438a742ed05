// SPDX-License-Identifier: Apache-2.0
// All kinds of topology, by name.
#pragma once

#include <cstdint>

#include "network/topology.hpp"
#include "sim/core/registry.hpp"

namespace warploom {

// Made from its parameters and the number of devices that the job uses.
using TopologyRegistry = Registry<Topology, std::int64_t>;
TopologyRegistry topology_registry();

}  // namespace warploom
