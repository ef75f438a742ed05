// SPDX-License-Identifier: Apache-2.0
// Answers from the graph, remembered.
#include "network/topologies/graph_topology.hpp"

#include <fmt/format.h>

#include <algorithm>

#include <utility>

#include "sim/core/errors.hpp"

namespace warploom {

GraphTopology::GraphTopology(WrittenNetwork network, std::int64_t devices)
    : network_(std::move(network)), device_count_(devices) {
  if (devices <= 0) throw UserError(fmt::format("expected at least 1 device, got {}", devices));
  if (devices > network_.graph.device_count()) {
    throw UserError(
        fmt::format("the job wants {} devices; the cluster has {}", devices, network_.graph.device_count()));
  }
  router_ = router(network_.graph);
  require_connected(network_.graph, *router_, devices);
}

std::unique_ptr<Router> GraphTopology::router(const NetworkGraph& graph) const {
  if (network_.router) {
    if (auto own = network_.router(graph)) return own;
  }
  return std::make_unique<Router>(graph);
}

Time GraphTopology::latency(Rank from, Rank to) const {
  require_rank(from);
  require_rank(to);
  const std::lock_guard lock(mutex_);
  const NetworkGraph& graph = network_.graph;
  const VertexId goal = graph.device(to);
  std::vector<EdgeId> links;
  Time sum = Time::zero();
  for (VertexId at = graph.device(from); at != goal; at = graph.to(links.front())) {
    router_->next(at, goal, links);
    WARPLOOM_CHECK(!links.empty(), "no link out of vertex {}", at);
    sum = sum + graph.kind(links.front()).latency;
  }
  return sum;
}

NetworkGraph GraphTopology::graph() const {
  NetworkGraph copy = network_.graph;
  if (device_count_ == copy.device_count()) return copy;
  std::vector<VertexId> devices;
  for (Rank rank = 0; rank < device_count_; ++rank) devices.push_back(copy.device(rank));
  copy.set_devices(std::move(devices));
  copy.finish();
  return copy;
}

bool GraphTopology::reduces_in_node() const {
  return network_.graph.nvlink_switch(network_.graph.device(0)) != no_vertex;
}

Cut GraphTopology::cut() const {
  const std::lock_guard lock(mutex_);
  return bisection_of(network_.graph, *router_, network_.node_size, network_.halves);
}

int GraphTopology::diameter() const {
  const std::lock_guard lock(mutex_);
  return diameter_of(network_.graph, *router_);
}

}  // namespace warploom
