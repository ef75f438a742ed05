// SPDX-License-Identifier: Apache-2.0
// Max-min fair rates kept up to date while flows come, go and change their limits: only those are solved that can
// change.
//
// A flow's bottleneck is a full link on which no flow is faster; rates are max-min fair if and only if every flow owns
// one or runs at its own limit (Bertsekas and Gallager). So: A = new flows, flows with a new limit, and the flows that
// were stopped at links that somebody left. Fill A with everything else as it is (water_filling.hpp), where a
// background flow stops at its old rate. Whoever of the background no longer owns a bottleneck joins A: those that a
// fuller link would slow down, and those whose link did not become full at their rate. Repeat until nobody joins. A
// link at which nobody outside A was stopped counts its background as one sum as long as it stays below full; the
// others count it flow by flow, in the order and with the arithmetic of a solve of everything, so that rates are
// normally the same to the bit and never further apart than rounding (1e-12). Below `few_flows` running flows all that
// are connected with a change are solved, as cheaply; there rates are the same to the bit, folded or not.
// Source: bottleneck structures, Ros-Giralt et al., SIGMETRICS 2020.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "network/fabrics/fold.hpp"
#include "network/fabrics/water_filling.hpp"

namespace warploom {

class LocalRepair {
 public:
  using FlowId = std::uint32_t;
  static constexpr std::size_t few_flows = 200;

  explicit LocalRepair(const Folding& folding, std::size_t component_below = few_flows);

  // The variable crosses at least one link; its rate is 0 until the next solve.
  FlowId add(VariableId variable, double limit);
  void remove(FlowId flow);
  void set_limit(FlowId flow, double limit);

  bool has_changes() const { return !dirty_flows_.empty() || !dirty_links_.empty(); }
  // Flows whose rates were found anew, whether they changed or not.
  std::span<const FlowId> solve();

  bool is_running(FlowId flow) const { return flows_[flow].is_running; }
  double rate(FlowId flow) const { return flows_[flow].rate; }
  std::size_t running() const { return running_; }
  double load(LinkClassId link) const { return links_[link].load; }  // bytes a second
  std::uint64_t fills() const { return fills_; }

 private:
  struct Flow {
    VariableId variable = 0;
    bool is_running = false;
    double limit = WaterFilling::unlimited;
    double rate = 0;
    LinkClassId stopped_at = no_class;
    std::uint32_t place = 0;            // among those stopped there
    std::vector<std::uint32_t> places;  // among the flows of each of the variable's links
    std::uint64_t visited = 0;
    std::uint64_t background = 0;
  };
  // A flow on a link, and which of the flow's links this is.
  struct Crossing {
    FlowId flow = 0;
    std::uint32_t index = 0;
  };
  struct Link {
    std::vector<Crossing> flows;
    std::vector<FlowId> stopped;  // here
    double load = 0;
    std::uint64_t visited = 0;
    std::uint64_t listed = 0;  // its background is among the jobs
    std::uint64_t swept = 0;   // all its flows are taken
  };

  void take(FlowId flow);
  void collect_connected();
  void collect_bottlenecked();
  void repair();
  void open_links();
  void list_background(LinkClassId link);
  bool make_exact();
  bool extend();
  void take_all_connected();
  void commit();
  void unstop(Flow& flow);
  double bandwidth(const Share& share, double rate) const {
    return static_cast<double>(share.units) / units_per_flow_ * rate;
  }

  const Folding& folding_;
  WaterFilling filling_;
  double units_per_flow_;
  std::size_t component_below_;
  std::vector<Flow> flows_;
  std::vector<FlowId> free_;
  std::vector<Link> links_;
  std::size_t running_ = 0;
  std::uint64_t visit_ = 0;
  std::uint64_t fills_ = 0;

  std::vector<FlowId> dirty_flows_;
  std::vector<LinkClassId> dirty_links_;
  std::vector<FlowId> taken_;  // A
  std::vector<FlowId> background_;
  std::vector<LinkClassId> touched_;     // links of A
  std::vector<WaterFilling::Job> jobs_;  // of A, then of the background
};

}  // namespace warploom
