// SPDX-License-Identifier: Apache-2.0
// Devices in a torus: 2D, 3D, k-D, dimension-ordered. Equations and source: grid_between.hpp.
#pragma once

#include <cstdint>

#include "network/topologies/node_network.hpp"

namespace warploom {

class Torus final : public GridOfDevices<TorusBetween> {
 public:
  using GridOfDevices<TorusBetween>::Spec;
  Torus(const Spec& spec, std::int64_t devices) : GridOfDevices("torus", spec, devices) {}
};

}  // namespace warploom
