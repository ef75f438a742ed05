// SPDX-License-Identifier: Apache-2.0
// The three questions that the executor asks of a machine: how long a kernel takes, how a call is done, how bytes move.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/engine.hpp"
#include "sim/core/units.hpp"
#include "sim/work/call.hpp"
#include "sim/work/group.hpp"
#include "sim/work/kernel.hpp"

namespace warploom {

// ---- Kernels ------------------------------------------------------------------------------------------------------

enum class Bound : std::uint8_t { tensor, vector, operand_bandwidth, hbm, latency, launch, power };
constexpr std::string_view name(Bound bound) {
  constexpr std::string_view names[] = {"tensor", "vector", "operand_bandwidth", "hbm", "latency", "launch", "power"};
  return names[static_cast<std::size_t>(bound)];
}

struct KernelCost {
  Time duration;          // alone on the device, launch gap included
  double sm_share = 1.0;  // SMs it needs to run at that speed, of all
  Bytes hbm_bytes{0};     // read and written
  Bytes l2_bytes{0};
  Flops flops{0};  // arithmetic it performs
  Power power{0};
  Bound bound_by = Bound::tensor;
  bool is_fallback = false;  // the timer that was asked for does not know the kernel; another one answered
};

// Is pure: same kernel, same cost. Throws UserError for a kernel that the device cannot run (a data type it lacks).
class KernelTimer {
 public:
  virtual ~KernelTimer() = default;
  virtual KernelCost cost(const Kernel& kernel) const = 0;
};

// What the executor must know of a device to share it between kernels and communication.
struct DeviceClass {
  std::string name;
  std::shared_ptr<const KernelTimer> timer;
  int sm_count = 1;
  Bandwidth hbm_bandwidth{0};  // reached by streaming kernels, not the data sheet's
  Bytes memory_raw{0};
  Bytes memory_usable{0};
  FlopRate peak{0};  // dense, in the data type that MFU is counted against
};

// ---- Communication ------------------------------------------------------------------------------------------------

// How the flows of a bundle follow from a group's member numbers, in every instance of the group.
enum class FlowPattern : std::uint8_t {
  ring,       // i -> i + 1 mod n
  chain,      // i -> i + 1, i < n - 1
  pair,       // 0 -> 1
  all_pairs,  // i -> j for all i != j
  tree,       // two binary trees over the nodes, each edge both ways
  rails,      // the ring over the nodes alone, every member's card a share
  ports,      // every member's port into its node's switch, both ways
};

struct Traffic {
  FlowPattern pattern = FlowPattern::ring;
  GroupId group = 0;
  friend bool operator==(const Traffic&, const Traffic&) = default;
};

// Flows that belong together. Coupled: every flow of an instance goes at one rate and they end as a whole (a ring).
// Independent: each flow has its own max-min share; the bundle ends with its last.
struct Bundle {
  Traffic traffic;
  bool coupled = true;
  Bytes bytes_per_flow{0};  // on the wire, protocol overhead included
  Bandwidth flow_limit{0};  // what one flow can reach whatever the links allow (channels, protocol); 0: no limit
  // Of what goes from rank to rank (ring, chain, rails): what a rank may send before it has received anything, its own
  // part; beyond it only what has come to it. 0: nobody waits. Looked at by fabrics that know one rank from another.
  Bytes first{0};
};

// One after another: wait `latency`, then move `bundles` (all at once), then the next step.
struct PlanStep {
  Time latency = Time::zero();
  std::vector<Bundle> bundles;
};

// A call as steps: a pure function of (call, group, topology, library).
struct Plan {
  std::string algorithm;
  std::string protocol;
  std::vector<PlanStep> steps;
  int sms = 0;                         // SMs that it occupies on each device while it runs
  double hbm_bytes_per_wire_byte = 0;  // HBM traffic of a device for each byte that one of its flows moves
  bool members_alike = true;           // false: instances differ in latency and the slowest stands for all
};

class CollectivePlanner {
 public:
  virtual ~CollectivePlanner() = default;
  virtual Plan plan(const Call& call, const Group& group) const = 0;
};

using BundleId = std::uint32_t;

class BundleListener {
 public:
  virtual ~BundleListener() = default;
  // `alike`: all instances ended at this moment (false: the slowest stands for all).
  virtual void on_bundle_done(std::uint64_t token, bool alike) = 0;
};

struct FabricCounters {
  std::uint64_t solves = 0;             // times that rates were solved
  std::uint64_t variables_touched = 0;  // rates recomputed, over all solves
  std::uint64_t bundles = 0;
  std::size_t link_classes = 0;
  std::size_t variables = 0;  // rate variables that the known traffic folds into
};

// One run's network. Events go through the engine; `listener` hears the ends.
class Fabric {
 public:
  virtual ~Fabric() = default;
  // All traffic that may be started, so that links and flows fold into classes. Called once, before any start.
  virtual void prepare(std::span<const Group> groups, std::span<const Traffic> traffic) = 0;
  // Ids may be reused after the bundle is done. The listener is never called from inside start().
  virtual BundleId start(const Bundle& bundle, std::uint64_t token) = 0;
  // From now on every flow of the bundle goes at most at `rate` (a device's memory is shared); 0 lifts it.
  virtual void limit(BundleId bundle, Bandwidth rate) = 0;
  virtual FabricCounters counters() const = 0;
};

using FabricFactory = std::function<std::unique_ptr<Fabric>(Engine&, BundleListener&)>;

struct Machine {
  std::string name;
  std::vector<DeviceClass> device_classes;
  std::shared_ptr<const CollectivePlanner> planner;
  FabricFactory fabric;
};

}  // namespace warploom
