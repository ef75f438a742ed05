// SPDX-License-Identifier: Apache-2.0
// Nodes whose rails never meet outside: a tree a rail. Equations and source: tree_between.hpp.
#pragma once

#include <cstdint>

#include "network/topologies/node_network.hpp"
#include "network/topologies/tree_between.hpp"

namespace warploom {

class RailOnly final : public NodesJoined<RailOnlyBetween> {
 public:
  using NodesJoined<RailOnlyBetween>::Spec;
  RailOnly(const Spec& spec, std::int64_t devices) : NodesJoined("rail_only", spec, devices) {}
};

}  // namespace warploom
