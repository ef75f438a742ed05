// SPDX-License-Identifier: Apache-2.0
// A collective alone on an idle network: what the library chooses, how long it takes, and what it did not choose.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "network/collectives/choice.hpp"
#include "network/network.hpp"
#include "network/packet/statistics.hpp"
#include "sim/core/units.hpp"
#include "sim/work/call.hpp"
#include "sim/work/group.hpp"

namespace warploom {

// A way to do the call: what the library's own cost model thinks of it, and what it takes when played.
struct CollectiveCandidate {
  std::string algorithm;
  std::string protocol;
  Time library_estimate;  // by which the library chooses; not a prediction
  Time duration;          // played on the idle fabric
  bool is_chosen = false;
};

struct CollectiveEstimate {
  Time duration;
  std::string algorithm;
  std::string protocol;
  int channels = 0;                             // SMs of each device
  Bandwidth bus_bandwidth{0};                   // as nccl-tests defines it: bytes / duration x bus_factor
  BusiestLink bottleneck;                       // over the whole duration, latencies included
  std::optional<PacketStatistics> packets;      // where packets were played
  std::vector<CollectiveCandidate> candidates;  // by the library's estimate; what it never chooses by itself last
};

// Throws UserError for ranks that the network does not have, and for a choice that cannot do the call.
CollectiveEstimate estimate_collective(const Network& network, const Call& call, const Group& group,
                                       const CollectiveChoice& choice = {});

// The same without candidates: nothing is played but the choice.
CollectiveEstimate estimate_chosen(const Network& network, const Call& call, const Group& group,
                                   const CollectiveChoice& choice = {});

struct ConcurrentCall {
  Call call;
  Group group;
  CollectiveChoice choice;
  Time start = Time::zero();
};

// Calls at once on one network. SMs and memory of devices that do several are not shared out here; the executor does.
struct ConcurrentEstimate {
  std::vector<CollectiveEstimate> alone;    // of each call, as if it were the only one
  std::vector<Time> together;               // of each call, from its own start
  Time end;                                 // of the last
  BusiestLink bottleneck;                   // from the first start to the last end
  std::optional<PacketStatistics> packets;  // of all together, where packets were played
};

ConcurrentEstimate estimate_concurrent(const Network& network, std::span<const ConcurrentCall> calls);

// nccl-tests' doc/PERFORMANCE.md: all-reduce 2(n-1)/n; all-gather, reduce-scatter, all-to-all (n-1)/n; else 1.
double bus_factor(CollectiveKind kind, std::int64_t ranks);

// "all_reduce", ...
std::optional<CollectiveKind> collective_kind(std::string_view name);

// Ranks 0 to n - 1, once.
Group first_ranks(std::int64_t ranks);

}  // namespace warploom
