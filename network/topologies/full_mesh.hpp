// SPDX-License-Identifier: Apache-2.0
// Devices in a full mesh of any number of dimensions. Equations and source: grid_between.hpp.
#pragma once

#include <cstdint>

#include "network/topologies/node_network.hpp"

namespace warploom {

class FullMesh final : public GridOfDevices<FullMeshBetween> {
 public:
  using GridOfDevices<FullMeshBetween>::Spec;
  FullMesh(const Spec& spec, std::int64_t devices) : GridOfDevices("full_mesh", spec, devices) {}
};

}  // namespace warploom
