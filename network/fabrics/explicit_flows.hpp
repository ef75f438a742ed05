// SPDX-License-Identifier: Apache-2.0
// A traffic written out flow by flow, for fabrics that play on a written-out network (packets, hashed paths).
//
// The same flows as TrafficShape's boxes, with two that boxes leave to the links written as what they are. A ring over
// nodes with k > 1 members each is k rotated channels: inside a node each member passes (k-1)/k of a flow's bytes to
// the next member there, 1/k leaves by its own card. All pairs are all pairs: a box's stand-ins say nothing of single
// paths. Grows with the devices, so that it is bounded.
#pragma once

#include <cstdint>
#include <vector>

#include "network/fabrics/flows.hpp"
#include "sim/play/ports.hpp"
#include "sim/work/group.hpp"

namespace warploom {

// The end of a flow that is no device but the switch of the node (in-switch reduction and multicast).
enum class SwitchEnd : std::uint8_t { none, receives, sends };

struct ExplicitFlow {
  Rank from = 0;
  Rank to = 0;                          // the same as `from` where the other end is the switch of its node
  std::int64_t units = units_per_flow;  // of bytes_per_flow: units / units_per_flow
  std::uint32_t instance = 0;           // of the group, in the order of Group::instances
  SwitchEnd at_switch = SwitchEnd::none;

  double share() const { return static_cast<double>(units) / static_cast<double>(units_per_flow); }
  friend bool operator==(const ExplicitFlow&, const ExplicitFlow&) = default;
};

// Traffic::distance of rails whose bytes the network's switches add up and copy instead of going round (SHARP): the
// same load on every link of a ring, which is all that boxes and shares see; packets go up and down a tree of switches.
inline constexpr std::int64_t rails_by_switches = 1;

inline constexpr std::int64_t most_explicit_flows = 50'000'000;  // 2 GB of them

// By instance, of the group along the traffic's axis. Throws UserError that says how many there would be where that is
// more than `most`.
std::vector<ExplicitFlow> explicit_flows(const Traffic& traffic, const Group& group, std::int64_t node_size,
                                         std::int64_t most = most_explicit_flows);
inline std::vector<ExplicitFlow> explicit_flows(FlowPattern pattern, const Group& group, std::int64_t node_size,
                                                std::int64_t most = most_explicit_flows) {
  return explicit_flows(Traffic{.pattern = pattern}, group, node_size, most);
}

}  // namespace warploom
