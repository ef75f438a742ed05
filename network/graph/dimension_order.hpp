// SPDX-License-Identifier: Apache-2.0
// Dimension-ordered ways on grids: the lowest dimension in which two ends differ is corrected first.
//
// Equation: end x of a grid with n_d ends along dimension d goes one step along the first d with x_d != y_d, by +1
// where (y_d - x_d) mod n_d < n_d / 2, by -1 where it is more, by either with half the traffic each where it is n_d / 2
// (a hashed flow by one of them). Deadlock-free on meshes; on tori with two virtual channels. Where
// that link is down or leads away, the shortest way is taken instead. Ends are the devices in the order of their ranks,
// or cards in the order of their ids. Source: Dally and Towles 2004, chapter 8.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "network/graph/routing.hpp"

namespace warploom {

class DimensionOrderRouter final : public Router {
 public:
  DimensionOrderRouter(const NetworkGraph& graph, std::vector<std::int64_t> dimensions);
  void next(VertexId at, VertexId to, std::vector<EdgeId>& links) override;

 private:
  // The next ends towards `to`, twice the same where one way around is shorter; no_vertex where the grid does not say.
  std::pair<VertexId, VertexId> steps(VertexId at, VertexId to) const;

  std::vector<std::int64_t> dimensions_;
  VertexId first_ = 0;
  std::int64_t size_ = 1;
};

}  // namespace warploom
