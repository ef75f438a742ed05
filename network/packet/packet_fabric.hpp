// SPDX-License-Identifier: Apache-2.0
// The packet fabric: bundles written out flow by flow on the topology's graph, packet by packet.
//
// Each explicit flow of a bundle (fabrics/explicit_flows.hpp) is a flow of the packet network; the bundle ends with the
// last of them. Bundles that say what a rank has at `first` go on in turn: in rings, chains and rails a rank sends no
// more than that and what it has received; in a double tree a rank sends up what has come from all its children, down
// what has come from its parent. So one slow link holds back all. In-switch reduction: what a switch sends down waits
// for the same bytes of every member's way up. Rails that the network's switches add (SHARP): a tree a rail, of
// the i-th member of every node, up to the switch in the middle between the two farthest and back down
// (reduction_tree.hpp). Assumptions: instances of a group are all played, not one for all;
// trees over several digits of nodes do not go in turn (their pipeline's fill is in the plan's latency).
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "network/fabrics/explicit_flows.hpp"
#include "network/packet/network.hpp"
#include "network/packet/tree_turns.hpp"
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
  BusiestLink busiest_link(Time duration) const override;

  PacketStatistics statistics(std::size_t most = 10) const;
  const PacketNetwork& network() const { return network_; }
  void set_progress(PacketNetwork::Progress progress) { network_.set_progress(std::move(progress)); }
  // As the assumptions of a report say it.
  std::string in_words() const { return "packets in queues; " + network_.routing().in_words(); }

 private:
  std::string control_in_words() const;
  using Flow = GatedFlow;
  using Written = WrittenTraffic;
  void write(Written& written, const Traffic& traffic) const;
  void join_in_turn(Written& written) const;
  void join_at_switches(Written& written) const;
  VertexId switch_of(Rank rank) const;
  void add_switch_trees(TransferId transfer, const Bundle& bundle);
  VertexId middle_of(const std::vector<VertexId>& members);
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
