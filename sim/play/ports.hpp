// SPDX-License-Identifier: Apache-2.0
// The three questions that the executor asks of a machine: how long a kernel takes, how a call is done, how bytes move.
#pragma once

#include <compare>
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
  shift,      // i -> i + distance mod n
  exchange,   // i <-> i xor distance, i < p, the largest power of two up to n
  fold,       // i -> i - p for all i >= p
  unfold,     // i - p -> i for all i >= p
  gather,     // i -> 0 for all i > 0
  scatter,    // 0 -> i for all i > 0
  pairs,      // those that are listed, each its weight of a flow's bytes
  rail_pair,  // 0 -> the device of its node that is on the rail of 1 -> 1
};

// A line of members: those that differ in one digit of their number alone, i = a + stride (x + count b). A traffic
// along it runs in all such lines at once, each a group of `count`. Count 0: the whole group.
struct Axis {
  std::int64_t stride = 1;
  std::int64_t count = 0;
  friend auto operator<=>(const Axis&, const Axis&) = default;
};

struct MemberPair {
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::int32_t weight = 1;
  friend auto operator<=>(const MemberPair&, const MemberPair&) = default;
};

struct Traffic {
  FlowPattern pattern = FlowPattern::ring;
  GroupId group = 0;
  std::int64_t distance = 0;                                  // shift (negative: backwards), exchange
  Axis axis = {};                                             // along which members the pattern runs
  std::shared_ptr<const std::vector<MemberPair>> pairs = {};  // of `pairs` alone

  // A total order by content, so that it is the same in every run.
  friend std::strong_ordering operator<=>(const Traffic& a, const Traffic& b);
  friend bool operator==(const Traffic& a, const Traffic& b) { return (a <=> b) == 0; }
};
inline std::strong_ordering operator<=>(const Traffic& a, const Traffic& b) {
  if (const auto by = a.group <=> b.group; by != 0) return by;
  if (const auto by = a.pattern <=> b.pattern; by != 0) return by;
  if (const auto by = a.distance <=> b.distance; by != 0) return by;
  if (const auto by = a.axis <=> b.axis; by != 0) return by;
  if (a.pairs == b.pairs) return std::strong_ordering::equal;
  if (!a.pairs || !b.pairs) return (a.pairs != nullptr) <=> (b.pairs != nullptr);
  return *a.pairs <=> *b.pairs;
}

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

// Of all links the kind of the one that was used most, and the share of its capacity that it carried on average.
struct BusiestLink {
  std::string name;  // "nvlink", "nic", "leaf"; empty: none was used
  double load = 0;
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
  // By the bundles that have ended, over `duration`.
  virtual BusiestLink busiest_link(Time /*duration*/) const { return {}; }
};

using FabricFactory = std::function<std::unique_ptr<Fabric>(Engine&, BundleListener&)>;

struct Machine {
  std::string name;
  std::vector<DeviceClass> device_classes;
  std::shared_ptr<const CollectivePlanner> planner;
  FabricFactory fabric;
};

}  // namespace warploom
