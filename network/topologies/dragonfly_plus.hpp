// SPDX-License-Identifier: Apache-2.0
// Nodes in a dragonfly+. Equations and source: dragonfly_between.hpp.
#pragma once

#include <cstdint>

#include "network/topologies/dragonfly_between.hpp"
#include "network/topologies/node_network.hpp"

namespace warploom {

class DragonflyPlus final : public NodesJoined<DragonflyPlusBetween> {
 public:
  using NodesJoined<DragonflyPlusBetween>::Spec;
  DragonflyPlus(const Spec& spec, std::int64_t devices) : NodesJoined("dragonfly_plus", spec, devices) {}
};

}  // namespace warploom
