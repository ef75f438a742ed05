// SPDX-License-Identifier: Apache-2.0
// A topology that is a written-out network: meshes, tori, dragonflies, free forms, and trees with faults.
//
// Equations: ways by graph/routing.hpp; the latency between two devices is that of the links on the first shortest way;
// bisection and diameter are measured (graph/measure.hpp). Grows with the devices.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "network/graph/measure.hpp"
#include "network/graph/routing.hpp"
#include "network/topology.hpp"

namespace warploom {

// What a kind builds.
struct WrittenNetwork {
  std::string kind;
  NetworkGraph graph;             // of the whole cluster, finished
  std::int64_t cluster_size = 0;  // 0: the graph's devices; more: not all of them have a rank
  std::int64_t node_size = 1;
  Bandwidth port{0};  // payload of a device inside its node
  Bandwidth card{0};  // payload of a card
  double cards_of_node = 0;
  Bandwidth injection{0};          // data-sheet rate, whole cluster
  std::vector<Half> halves;        // whose cut may be the least; empty: those by rank and by distance
  std::vector<double> background;  // by edge: the share of its rate that others take; empty: none
  RoutingSpec routing;
  // Other ways than the shortest; none, or what returns null: Router.
  std::function<std::unique_ptr<Router>(const NetworkGraph&)> router;
};

class GraphTopology : public Topology {
 public:
  // Devices of the cluster are the graph's; the first `devices` of them are used. Throws UserError for devices that are
  // not joined, and where there are fewer.
  GraphTopology(WrittenNetwork network, std::int64_t devices);

  std::string_view kind() const override { return network_.kind; }
  std::int64_t cluster_size() const override {
    return network_.cluster_size > 0 ? network_.cluster_size : network_.graph.device_count();
  }
  std::int64_t device_count() const override { return device_count_; }
  std::int64_t node_size() const override { return network_.node_size; }
  Bandwidth port() const override { return network_.port; }
  Bandwidth card() const override { return network_.card; }
  double cards_of_node() const override { return network_.cards_of_node; }
  bool reduces_in_node() const override;
  Time latency(Rank from, Rank to) const override;
  std::int64_t period() const override { return cluster_size(); }
  NetworkGraph graph() const override;
  std::unique_ptr<Router> router(const NetworkGraph& graph) const override;
  RoutingSpec routing() const override { return network_.routing; }
  std::vector<double> background() const override { return network_.background; }
  Bandwidth injection() const override { return network_.injection; }
  Bandwidth bisection() const override { return cut().rate; }
  Cut cut() const;  // whose rate the bisection is
  int diameter() const override;

  // The same without a copy; all devices of the cluster.
  const NetworkGraph& written() const { return network_.graph; }

 private:
  WrittenNetwork network_;
  std::int64_t device_count_ = 0;
  mutable std::mutex mutex_;
  std::unique_ptr<Router> router_;
};

}  // namespace warploom
