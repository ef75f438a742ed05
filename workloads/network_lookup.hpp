// SPDX-License-Identifier: Apache-2.0
// The network of a cluster that is named, without its devices: for collectives alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hw_models/device.hpp"
#include "network/network.hpp"
#include "sim/core/config_value.hpp"
#include "sim/core/library.hpp"
#include "sim/core/units.hpp"

namespace warploom {

// `clusters/dgx_h100` for `dgx_h100`, which may be the name of more than a cluster; a file, and what is no cluster's
// name, as it is.
std::string cluster_path(const std::string& cluster, const Library& library);

struct FoundNetwork {
  std::string name;                // as the cluster calls itself
  std::vector<std::string> known;  // names that its device may go by: what its nodes stand for, the device's aliases
  DeviceSpec device;               // of its nodes
  Network network;
};

// `cluster`: a library name or a file; `devices` of it are used. Throws ConfigError or UserError.
FoundNetwork load_network(const std::string& cluster, std::int64_t devices,
                          const std::vector<std::string>& overrides = {},
                          const Library& library = Library::from_environment());

struct FoundTopology {
  std::string name;
  std::shared_ptr<const Topology> topology;
};

// Its topology alone; all devices of the cluster for `devices` 0.
FoundTopology load_topology(const std::string& cluster, std::int64_t devices,
                            const std::vector<std::string>& overrides = {},
                            const Library& library = Library::from_environment());

// The device of its nodes by its library name; empty: not of the library. A cloud's cluster stands for machines
// (`p5.48xlarge`), so that its device has to say who it is.
std::string device_of(const FoundNetwork& found, const Library& library);

}  // namespace warploom
