// SPDX-License-Identifier: Apache-2.0
// What the network's tests share: small topologies from text, and a bench that plays bundles on a fluid fabric.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "network/fabrics/fluid.hpp"
#include "network/topologies.hpp"
#include "sim/core/config_value.hpp"
#include "sim/core/engine.hpp"

namespace warploom::test {

inline std::shared_ptr<const Topology> any_topology(const std::string& text, std::int64_t devices) {
  const auto value = parse_config_text(text, "test.yaml");
  Diagnostics diagnostics;
  std::shared_ptr<const Topology> made = topology_registry().make(value, diagnostics, devices);
  diagnostics.throw_if_any();
  return made;
}

// One whose links form tiers.
inline std::shared_ptr<const TieredTopology> topology(const std::string& text, std::int64_t devices) {
  return std::dynamic_pointer_cast<const TieredTopology>(any_topology(text, devices));
}

inline const std::string node_text =
    "node: {gpus: 8, nvlink: {links: 18, rate: 25 GB/s}}\n"
    "nic: {count: 8, rate: 400 Gb/s}\n";
inline const std::string one_node_text = "kind: nvlink_switch\nnode: {gpus: 8, nvlink: {links: 18, rate: 25 GB/s}}\n";
// 4 nodes a unit, 4 units a pod, 4 pods.
inline const std::string rail_text = "kind: rail_fat_tree\n" + node_text +
                                     "tiers: [{name: leaf, of: 4, oversubscription: 2}, {name: spine, of: 4, "
                                     "oversubscription: 3}, {name: core, of: 4}]\n";
// 2 nodes a rack, 6 racks a pod, 8 pods.
inline const std::string clos_text = "kind: fat_tree\n" + node_text +
                                     "tiers: [{name: rack, of: 2, oversubscription: 1}, {name: pod, of: 6, "
                                     "oversubscription: 7}, {name: core, of: 8}]\n";
// Four cards for eight devices, two tiers.
inline const std::string few_cards_text =
    "kind: rail_fat_tree\nnode: {gpus: 8, nvlink: {links: 12, rate: 25 GB/s}}\nnic: {count: 4, rate: 200 Gb/s}\n"
    "tiers: [{name: leaf, of: 3, oversubscription: 1.5}, {name: spine, of: 20}]\n";

// Instances of `members` wherever the other digits say.
inline Group group(std::vector<Stride> members, std::vector<Stride> instances, Rank base = 0) {
  Group made;
  made.members.digits = std::move(members);
  made.instances = {{base, std::move(instances)}};
  return made;
}

// The same group as one group an instance.
inline std::vector<Group> unfolded(const Group& folded) {
  std::vector<Group> groups;
  for (const auto& box : folded.instances) {
    for (std::int64_t i = 0; i < box.size(); ++i) groups.push_back({folded.members, {{box.at(i), {}}}});
  }
  return groups;
}

struct Ending {
  Time time;
  bool alike = true;
  int calls = 0;
};

// Plays bundles, each from its own time; token = index.
class FabricBench : public BundleListener, public EventSink {
 public:
  struct Start {
    Time time;
    Bundle bundle;
  };

  FabricBench(std::shared_ptr<const Topology> topology, std::vector<Group> groups, std::vector<Start> starts)
      : groups_(std::move(groups)), starts_(std::move(starts)), fabric_(std::move(topology), engine_, *this) {
    std::vector<Traffic> traffic;
    for (const auto& start : starts_) traffic.push_back(start.bundle.traffic);
    fabric_.prepare(groups_, traffic);
    endings_.resize(starts_.size());
    ids_.resize(starts_.size());
    for (std::size_t i = 0; i < starts_.size(); ++i) engine_.at(starts_[i].time, *this, i);
  }

  const std::vector<Ending>& run() {
    engine_.run();
    return endings_;
  }

  Engine& engine() { return engine_; }
  FluidFabric& fabric() { return fabric_; }
  const std::vector<Ending>& endings() const { return endings_; }
  BundleId id(std::size_t start) const { return ids_[start]; }

  void on_event(std::uint64_t index) override {
    is_starting_ = true;
    ids_[index] = fabric_.start(starts_[index].bundle, index);
    is_starting_ = false;
  }
  void on_bundle_done(std::uint64_t token, bool alike) override {
    called_from_start_ = called_from_start_ || is_starting_;
    endings_[token].time = engine_.now();
    endings_[token].alike = alike;
    ++endings_[token].calls;
  }
  bool called_from_start() const { return called_from_start_; }

 private:
  Engine engine_;
  std::vector<Group> groups_;
  std::vector<Start> starts_;
  FluidFabric fabric_;
  std::vector<Ending> endings_;
  std::vector<BundleId> ids_;
  bool is_starting_ = false;
  bool called_from_start_ = false;
};

inline Bundle bundle(FlowPattern pattern, GroupId group, Bytes bytes, Bandwidth limit = Bandwidth{0}) {
  return {{pattern, group}, is_coupled(pattern), bytes, limit};
}

}  // namespace warploom::test
