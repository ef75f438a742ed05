// SPDX-License-Identifier: Apache-2.0
// How many channels a library finds between the devices of a node, and how many of them a call is worth.
//
// Equations. Search: of the speeds s that it tries, the first that maximises floor(port / s) x s, none below 0.49 of
// the best so far; such channels are split into two (tuner.split_above), and each is run by two blocks of threads
// (SMs). Use: channels are dropped while a thread would get less than its least bytes, then threads are halved, down
// to 96. Source: NCCL 2.30.7 src/graph/search.cc (ncclTopoCompute, ncclTopoDupChannels), src/graph/connect.cc
// (ncclTopoPostset), src/enqueue.cc. Assumes a switch that does not block: 8 x H100 6 x 60 GB/s -> 24 SMs, 8 x B200 8 x
// 90 -> 32, 8 x A100 6 x 40 -> 24, 8 x H800 4 x 40 -> 16 (its log says so).
#pragma once

#include <cstdint>

#include "network/collectives/collective.hpp"

namespace warploom {

struct RingGraph {
  std::int64_t channels = 1;  // of the graph; blocks are twice as many
  Bandwidth channel_rate{0};
  Bandwidth bus() const { return channel_rate * channels; }
};

// Fast channels as two of half their rate.
RingGraph split_channels(RingGraph graph, const TunerSpec& tuner);

RingGraph search_rings(Bandwidth port, const LibrarySpec& library);

// SMs of a ring or tree that all data fills.
std::int64_t most_channels(const Setting& setting);

struct ChannelUse {
  std::int64_t channels = 1;
  std::int64_t threads = 96;  // of a channel
};
// At which one threadblock sends or receives; 0: no slower than the link. LL: its threads' pace; LL128: half of what
// the library's table gives a channel, which two blocks run; Simple: what all-to-alls show of a channel.
Bandwidth block_rate(const Setting& setting, Protocol protocol);

ChannelUse channels_for(Bytes bytes, std::int64_t most, const ProtocolSpec& protocol, std::int64_t ranks);

}  // namespace warploom
