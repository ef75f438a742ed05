// SPDX-License-Identifier: Apache-2.0
// Adaptive routing of flows: each takes, hop by hop, the link of the shortest ways that carries least.
//
// Equation: of the links towards the destination the one with the smallest load / payload rate, the lowest among
// equals; load: what add() has put there. Assumes that switches see the load of their own ports at once, and that a
// flow stays where it was put. Packets choose by queues instead (the packet fabric's matter). Source: NVIDIA Quantum-2
// adaptive routing, as described in the SuperPOD reference architectures.
#pragma once

#include <cstdint>
#include <vector>

#include "network/graph/routing.hpp"

namespace warploom {

class AdaptiveRouter final : public Router {
 public:
  explicit AdaptiveRouter(const NetworkGraph& graph) : Router(graph), load_(graph.edge_count()) {}

  // The path of least load; does not load it. The seed does not matter.
  std::vector<EdgeId> hashed_path(const FlowKey& flow, std::uint64_t seed) override;
  // Puts a flow on its path, or takes it off by a negative load.
  void add(const std::vector<EdgeId>& path, double load);
  double load(EdgeId edge) const { return load_[edge]; }

 private:
  std::vector<double> load_;
};

}  // namespace warploom
