// SPDX-License-Identifier: Apache-2.0
// What joins nodes, written out: the kinds of network between ends, by name. An end is a card, or a device itself.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "network/graph/measure.hpp"
#include "network/graph/routing.hpp"
#include "network/topologies/tree_wiring.hpp"
#include "sim/core/registry.hpp"

namespace warploom {

class Between {
 public:
  virtual ~Between() = default;
  // Nodes that it has room for.
  virtual std::int64_t capacity() const = 0;
  // `rails`: ends of a node that are apart where the kind keeps them so; `planes`: cables of an end into equal
  // networks.
  virtual void wire(NetworkBuilder& builder, const Ends& ends, const EndCable& cable, const TreeShape& shape) const = 0;
  // Whether the ends themselves pass on what is not theirs (no switches).
  virtual bool ends_forward() const { return false; }
  // Whether some ways lead through devices: rails that do not meet outside.
  virtual bool devices_forward() const { return false; }
  // Halves of the nodes whose cut may be the least; empty: those that any network is tried with.
  virtual std::vector<Half> halves() const { return {}; }
  // Ways of its own; null: the shortest.
  virtual std::unique_ptr<Router> router(const NetworkGraph& /*graph*/) const { return nullptr; }
};

using BetweenRegistry = Registry<Between>;
BetweenRegistry between_registry();

}  // namespace warploom
