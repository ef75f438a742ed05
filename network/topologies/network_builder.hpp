// SPDX-License-Identifier: Apache-2.0
// A written-out network in the making: link kinds by name, and a bound on what may be written out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "network/graph/graph.hpp"
#include "network/topologies/parts.hpp"

namespace warploom {

class NetworkBuilder {
 public:
  // Above it a graph takes gigabytes.
  static constexpr std::int64_t most_elements = 8'000'000;

  // Vertices `count` of one group. Throws UserError where the network gets too large.
  VertexId add(const std::string& name, VertexKind kind, std::int64_t count, bool forwards,
               const SwitchSpec& what = {});
  // `cost`: of a hop over it where the shortest way is sought.
  std::uint16_t kind(const std::string& name, Bandwidth rate, double efficiency, Time latency, const CableSpec& cable,
                     std::uint16_t cost = 1);
  LinkIndex connect(VertexId a, VertexId b, std::uint16_t kind, std::int64_t width = 1);

  NetworkGraph& graph() { return graph_; }
  // Sorts the edges and gives the network away.
  NetworkGraph finish();

 private:
  void count(std::int64_t elements);

  NetworkGraph graph_;
  std::int64_t elements_ = 0;
};

}  // namespace warploom
