// SPDX-License-Identifier: Apache-2.0
// A cluster's network from its configuration: topology, collective library, and the fabric that moves bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "network/collectives.hpp"
#include "network/topology.hpp"
#include "sim/core/config_value.hpp"
#include "sim/core/errors.hpp"
#include "sim/play/ports.hpp"

namespace warploom {

struct Network {
  std::shared_ptr<const Topology> topology;
  std::shared_ptr<const Planner> planner;
  FabricFactory fabric;                  // each call makes the fabric of one run
  std::string fabric_kind;               // "fluid", "packet"
  std::vector<std::string> assumptions;  // for the report
  // Where a play may take long (packets): how much is done of how much. Empty: nobody is told.
  std::function<void(std::size_t done, std::size_t all)> progress = {};
};

// `network` is the `network:` part of a cluster ({kind: rail_fat_tree, ...}), `library` its `library:` part; `devices`
// of the cluster are used, 0 to devices - 1. `network.fabric` is what moves bytes: {kind: packet, ...}; fluid without.
// Mistakes go to the diagnostics; then the pointers are null.
Network make_network(const ConfigValue& network, const ConfigValue& library, std::int64_t devices,
                     Diagnostics& diagnostics);

}  // namespace warploom
