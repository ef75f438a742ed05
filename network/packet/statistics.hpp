// SPDX-License-Identifier: Apache-2.0
// What a packet network has seen: totals, by class of link, its worst queues and slowest flows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/units.hpp"

namespace warploom {

// What a queue counts, and sums of such.
struct LinkCounts {
  Bytes most_queued{0};
  std::uint64_t marks = 0;  // ECN, FECN
  std::uint64_t drops = 0;
  std::uint64_t pauses = 0;  // times that the far end paused it
  Time paused;               // summed over links
  std::uint64_t stalls = 0;  // times that it waited for credits
  Time stalled;

  void add(const LinkCounts& other);
};

struct QueueStatistics : LinkCounts {
  std::string name;        // "leaf 3 -> spine 1"; of several cables ", cable 2 of 4", of several lanes ", lane 2"
  std::string kind;        // of the link
  double throughput = 0;   // bytes a second of payload, over the time that was simulated
  double utilisation = 0;  // of the link's payload rate
  Bytes bytes{0};          // payload
  Bytes mean_queued{0};
  std::uint32_t flows = 0;  // most at once
};

// All links of a kind: sums, and the one of the highest load.
struct LinkClassStatistics : LinkCounts {
  std::string name;         // "nvlink", "nic", "leaf"
  std::uint64_t links = 0;  // that carried something, a direction each
  Bytes bytes{0};           // payload
  double mean_load = 0;     // of their payload rate, over the time that was simulated
  double highest_load = 0;
  std::string busiest;  // link of that load
};

struct SlowFlow {
  std::string from;
  std::string to;
  Bytes bytes{0};
  Time duration;
  double throughput = 0;  // bytes a second
  Bytes resent{0};
  std::uint64_t marks = 0;
  std::uint64_t drops = 0;
};

struct PacketStatistics : LinkCounts {
  std::string routing;             // how packets chose their ways, in words
  std::string congestion_control;  // who slowed senders down, in words
  Time time;                       // from the first packet to the last
  std::uint64_t packet_hops = 0;
  std::uint64_t flows = 0;  // connections that have ended
  Bytes asked{0};
  Bytes delivered{0};
  Bytes resent{0};
  std::uint64_t notifications = 0;  // CNP, BECN
  std::uint64_t collisions = 0;     // flows that hashed onto a link in use while another of equal cost was free
  Time mean_completion;             // of flows
  Time tail_completion;             // 99th percentile
  Time last_completion;
  std::vector<LinkClassStatistics> classes;  // the one with the busiest link first
  std::vector<QueueStatistics> queues;       // the worst first, by depth, drops, pause or wait for credits
  std::vector<SlowFlow> slowest;
};

}  // namespace warploom
