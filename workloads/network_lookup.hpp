// SPDX-License-Identifier: Apache-2.0
// The network of a cluster that is named, without its devices: for collectives alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "network/network.hpp"
#include "sim/core/config_value.hpp"
#include "sim/core/library.hpp"

namespace warploom {

struct FoundNetwork {
  std::string name;                     // as the cluster calls itself
  std::vector<std::string> stands_for;  // devices whose nodes it is; may be empty
  std::string device;                   // of its nodes, by its library name; empty: not of the library
  Network network;
};

// `cluster`: a library name or a file; `devices` of it are used. Throws ConfigError or UserError.
FoundNetwork load_network(const std::string& cluster, std::int64_t devices,
                          const std::vector<std::string>& overrides = {},
                          const Library& library = Library::from_environment());

}  // namespace warploom
