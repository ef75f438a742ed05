// SPDX-License-Identifier: Apache-2.0
// Steps follow bundles, bundles follow steps.
#include "network/play_plans.hpp"

#include <algorithm>

#include "network/packet/packet_fabric.hpp"
#include "sim/core/engine.hpp"

namespace warploom {

namespace {

class Player : public EventSink, public BundleListener {
 public:
  Player(const FabricFactory& fabric, std::span<const PlannedCall> calls, const PlayProgress& progress)
      : calls_(calls), states_(calls.size()), fabric_(fabric(engine_, *this)) {
    if (auto* packets = dynamic_cast<PacketFabric*>(fabric_.get())) packets->set_progress(progress);
  }

  PlayedCalls run() {
    announce();
    Time first = Time::max();
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      first = std::min(first, calls_[i].start);
      engine_.at(calls_[i].start, *this, begin_step | i);
    }
    engine_.run();
    PlayedCalls played;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      played.durations.push_back(states_[i].end - calls_[i].start);
      played.end = std::max(played.end, states_[i].end);
    }
    played.counters = fabric_->counters();
    if (const auto* packets = dynamic_cast<const PacketFabric*>(fabric_.get())) played.packets = packets->statistics();
    if (!calls_.empty()) played.bottleneck = fabric_->busiest_link(played.end - first);
    return played;
  }

 private:
  static constexpr std::uint64_t begin_step = std::uint64_t{1} << 63;
  struct State {
    std::size_t step = 0;
    std::size_t open = 0;
    Time end;
  };

  void announce() {
    std::vector<Group> groups;
    std::vector<Traffic> traffic;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      groups.push_back(calls_[i].group);
      for (const PlanStep& step : calls_[i].plan.steps) {
        for (const Bundle& bundle : step.bundles) {
          traffic.push_back(bundle.traffic);
          traffic.back().group = static_cast<GroupId>(i);
        }
      }
    }
    fabric_->prepare(groups, traffic);
  }

  void on_event(std::uint64_t payload) override {
    const auto call = static_cast<std::size_t>(payload & ~begin_step);
    if ((payload & begin_step) != 0) return begin(call);
    State& state = states_[call];
    const PlanStep& step = calls_[call].plan.steps[state.step];
    state.open = step.bundles.size();
    if (state.open == 0) return end_step(call);
    for (Bundle bundle : step.bundles) {
      bundle.traffic.group = static_cast<GroupId>(call);
      fabric_->start(bundle, call);
    }
  }

  void begin(std::size_t call) {
    State& state = states_[call];
    state.end = engine_.now();
    if (state.step == calls_[call].plan.steps.size()) return;
    engine_.at(engine_.now() + calls_[call].plan.steps[state.step].latency, *this, call);
  }

  void end_step(std::size_t call) {
    ++states_[call].step;
    begin(call);
  }

  void on_bundle_done(std::uint64_t call, bool /*alike*/) override {
    if (--states_[call].open == 0) end_step(call);
  }

  Engine engine_;
  std::span<const PlannedCall> calls_;
  std::vector<State> states_;
  std::unique_ptr<Fabric> fabric_;
};

}  // namespace

PlayedCalls play_plans(const FabricFactory& fabric, std::span<const PlannedCall> calls, const PlayProgress& progress) {
  return Player(fabric, calls, progress).run();
}

}  // namespace warploom
