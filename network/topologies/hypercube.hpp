// SPDX-License-Identifier: Apache-2.0
// Devices in a hypercube. Equations and source: grid_between.hpp.
#pragma once

#include <cstdint>

#include "network/topologies/node_network.hpp"

namespace warploom {

class Hypercube final : public GridOfDevices<HypercubeBetween> {
 public:
  using GridOfDevices<HypercubeBetween>::Spec;
  Hypercube(const Spec& spec, std::int64_t devices) : GridOfDevices("hypercube", spec, devices) {}
};

}  // namespace warploom
