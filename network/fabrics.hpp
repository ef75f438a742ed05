// SPDX-License-Identifier: Apache-2.0
// All kinds of fabric, by name.
#pragma once

#include <memory>

#include "network/topology.hpp"
#include "sim/core/engine.hpp"
#include "sim/core/registry.hpp"
#include "sim/play/ports.hpp"

namespace warploom {

using FabricRegistry = Registry<Fabric, std::shared_ptr<const Topology>, Engine&, BundleListener&>;
FabricRegistry fabric_registry();

}  // namespace warploom
