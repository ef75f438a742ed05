// SPDX-License-Identifier: Apache-2.0
// The fluid fabric: flows share links max-min fair at every moment, on the equitable partition, exactly and
// incrementally.
//
// Equations: rates from water_filling.hpp; a flow of b bytes ends when the integral of its rate reaches b, to the
// nearest picosecond; one flow alone takes b / bandwidth (latency is in the plan). Bytes are brought up to date only
// when the variable's own rate changes, so that what happens elsewhere never touches it. Arrivals, ends and limits of
// one instant are solved once, at its end, for the variables that they can change (local_repair.hpp). Assumes that
// congestion control settles at once and fairly, and no loss. Source: Casanova et al., SimGrid, JPDC 2014; Velho et
// al., TOMACS 2013 (how far flow-level models hold).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "network/fabrics/fold.hpp"
#include "network/fabrics/local_repair.hpp"
#include "network/topology.hpp"
#include "sim/core/engine.hpp"
#include "sim/play/ports.hpp"

namespace warploom {

// How traffic becomes variables and links: fold() on a tree of switches, fold_graph() on anything else.
using FoldTraffic = std::function<Folding(std::span<const Group>, std::span<const Traffic>)>;

FoldTraffic folder_of(std::shared_ptr<const Topology> topology);

class FluidFabric final : public Fabric, public EventSink {
 public:
  FluidFabric(FoldTraffic fold, Engine& engine, BundleListener& listener)
      : fold_(std::move(fold)), engine_(engine), listener_(listener) {}
  // Folds tiers of switches without writing them out, and whatever else on its graph with an even split.
  FluidFabric(std::shared_ptr<const Topology> topology, Engine& engine, BundleListener& listener)
      : FluidFabric(folder_of(std::move(topology)), engine, listener) {}

  void prepare(std::span<const Group> groups, std::span<const Traffic> traffic) override;
  BundleId start(const Bundle& bundle, std::uint64_t token) override;
  void limit(BundleId bundle, Bandwidth rate) override;
  FabricCounters counters() const override { return counters_; }
  BusiestLink busiest_link(Time duration) const override;

  // For tests: what runs now and how fast.
  struct Running {
    BundleId bundle = 0;
    VariableId variable = 0;
    double rate = 0;
    double limit = 0;
  };
  std::vector<Running> running() const;
  const Folding& folding() const { return *folding_; }
  const LocalRepair& rates() const { return *rates_; }

 private:
  enum class Event : std::uint32_t { solve, flow_end, empty_bundle };
  // One variable of one running bundle; of the same id in rates_.
  struct Flow {
    VariableId variable = 0;
    BundleId bundle = 0;
    double rate = 0;
    double remaining = 0;  // bytes at `updated`
    Time updated;
    Engine::EventId end;
  };
  struct BundleState {
    std::uint64_t token = 0;
    double bytes_per_flow = 0;
    double flow_limit = 0;  // 0: none
    double limit = 0;
    std::uint32_t open = 0;
    bool alike = true;
    std::optional<Time> last_end;
    std::vector<std::uint32_t> flows;
    bool is_running = false;
  };

  void on_event(std::uint64_t payload) override;
  void schedule_solve();
  void solve();
  void set_rate(std::uint32_t flow, double rate);
  void end_flow(std::uint32_t flow);
  void end_bundle(BundleId bundle);
  double limit_of(const BundleState& bundle) const;

  FoldTraffic fold_;
  Engine& engine_;
  BundleListener& listener_;
  std::unique_ptr<Folding> folding_;
  std::unique_ptr<LocalRepair> rates_;
  std::vector<double> carried_;  // bytes of one link of each class, by flows that have ended
  std::map<Traffic, std::size_t> traffic_ids_;
  FabricCounters counters_;

  std::vector<Flow> flows_;
  std::vector<BundleState> bundles_;
  std::vector<BundleId> free_bundles_;
  bool solve_pending_ = false;
};

}  // namespace warploom
