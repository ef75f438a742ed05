// SPDX-License-Identifier: Apache-2.0
// Plays plans of communication calls side by side on one fabric, each slowed where it shares a link with another.
//
// A step's latency runs first, then its bundles move together; the next step begins when the last of them has ended.
// Devices and their memory are not busy with anything else.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "network/packet/statistics.hpp"
#include "sim/core/units.hpp"
#include "sim/play/ports.hpp"
#include "sim/work/group.hpp"

namespace warploom {

struct PlannedCall {
  Plan plan;
  Group group;
  Time start = Time::zero();
};

struct PlayedCalls {
  std::vector<Time> durations;  // of each call, from its own start
  Time end;                     // of the last
  BusiestLink bottleneck;       // from the first start to the last end
  FabricCounters counters;
  std::optional<PacketStatistics> packets;  // of the packet fabric
};

// Is told now and then how much is done of how much, by fabrics that take long (packets).
using PlayProgress = std::function<void(std::size_t done, std::size_t all)>;

PlayedCalls play_plans(const FabricFactory& fabric, std::span<const PlannedCall> calls,
                       const PlayProgress& progress = {});

}  // namespace warploom
