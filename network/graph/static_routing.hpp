// SPDX-License-Identifier: Apache-2.0
// Static destination-based routing, as an InfiniBand subnet manager writes it into the switches: one port a
// destination.
//
// Equation: destinations in the order of their ranks; at every vertex each takes, of the links that begin a shortest
// way, the one that fewest destinations before it have taken (the lowest among equals), so that a leaf's remote
// destinations go round its uplinks. The flow does not matter: all channels of a pair, and all senders to a device,
// share one way. Source: OpenSM's min-hop engine (osm_ucast_mgr.c: least loaded port).
#pragma once

#include <cstdint>
#include <vector>

#include "network/graph/routing.hpp"

namespace warploom {

class StaticRouter final : public Router {
 public:
  // Throws UserError where the tables would get too large.
  explicit StaticRouter(const NetworkGraph& graph);
  void next(VertexId at, VertexId to, std::vector<EdgeId>& links) override;

 private:
  static constexpr std::size_t most_entries = std::size_t{256} << 20;
  void write_tables();

  std::vector<std::uint32_t> number_of_;  // of a device, by vertex; else no number
  std::vector<EdgeId> table_;             // by vertex, then device
  std::size_t devices_ = 0;
};

}  // namespace warploom
