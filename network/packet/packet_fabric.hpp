// SPDX-License-Identifier: Apache-2.0
// The packet fabric: bundles written out flow by flow on the topology's graph, packet by packet.
//
// Each explicit flow of a bundle (fabrics/explicit_flows.hpp) is a flow of the packet network; the bundle ends with the
// last of them. Rings, chains and rails whose bundle says what a rank has at `first` go on in turn: a rank sends no
// more than that and what it has received, so that one slow link holds back all. In-switch reduction: what a switch
// sends down waits for the same bytes of every member's way up. Assumptions: the two directions of a tree go on at once
// (their pipeline's fill is in the plan's latency); instances of a group are all played, not one for all.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "network/fabrics/explicit_flows.hpp"
#include "network/packet/network.hpp"
#include "network/topology.hpp"
#include "sim/play/ports.hpp"

namespace warploom {

class PacketFabric final : public Fabric, private PacketListener {
 public:
  using Spec = PacketSpec;
  PacketFabric(const PacketSpec& spec, std::shared_ptr<const Topology> topology, Engine& engine,
               BundleListener& listener);

  void prepare(std::span<const Group> groups, std::span<const Traffic> traffic) override;
  BundleId start(const Bundle& bundle, std::uint64_t token) override;
  void limit(BundleId bundle, Bandwidth rate) override;
  FabricCounters counters() const override { return counters_; }

  PacketStatistics statistics(std::size_t most = 10) const { return network_.statistics(most); }
  const PacketNetwork& network() const { return network_; }

 private:
  struct Flow {
    ExplicitFlow flow;
    std::int64_t before = 0;      // units that its sender has given to flows before it
    std::uint32_t out = nothing;  // gate that it passes, gate that it feeds: numbers within the traffic
    std::uint32_t in = nothing;
    std::uint32_t input = 0;
  };
  struct Written {
    std::vector<Flow> flows;
    std::vector<std::uint32_t> gates;  // inputs of each
    std::vector<std::int64_t> units;   // that come to each of a gate's inputs
    bool is_made = false;
    bool is_single = true;  // one instance
  };
  void write(Written& written, const Traffic& traffic) const;
  void join_in_turn(Written& written) const;
  void join_at_switches(Written& written) const;
  VertexId switch_of(Rank rank) const;
  void on_transfer_done(TransferId id) override;

  std::shared_ptr<const Topology> topology_;
  BundleListener& listener_;
  NetworkGraph graph_;
  PacketNetwork network_;
  FabricCounters counters_;
  std::vector<Group> groups_;
  std::map<Traffic, Written> traffic_;
  struct Running {
    std::uint64_t token = 0;
    bool alike = true;
  };
  std::vector<Running> running_;  // by transfer
};

}  // namespace warploom
