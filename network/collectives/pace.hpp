// SPDX-License-Identifier: Apache-2.0
// How long a pattern of flows takes under a protocol: the mechanism of rings and chains.
//
// Equations, protocol p, a call of B bytes cut into channels and steps (channels.hpp), part = B's share of one channel
// and step:
//   start = base + wide x min(1, threads at work / threads of two channels)
//   hops  = (steps - inter) x hop + inter x network_hop + paths, inter = ceil(steps x nodes / ranks)
//           around a ring, nodes - 1 along a chain
//   link  : bytes / rate + fill x min(part, chunk) / channel's rate x (1 + loop_fill x (part / chunk - 1)+), half of
//           the fill for an all-reduce, whose two passes overlap (two_pass_fill); loop_fill inside a node only: a
//           rank's threads also copy what they receive last, for which the link waits, but not a card
//   pace  : where threads are slower than the link (LL), steps x (ceil(part / round) - 1) x round / channel_rate: the
//           first round of a step hides in its hop.
//   chain : of broadcast and reduce, whose ranks pass on what comes as it comes: the link takes bytes / rate, the pace
//           (ceil(B's share of a channel / round) - 1) x round / channel_rate, once. That a rank does not hold a slice
//           (512 KiB) back is measured: 8 H800 broadcast 8 MiB to 2 GiB in 19 to 24 us + bytes / 165 GB/s, where slices
//           would have taken 300 us more.
//   rate  = the least of efficiency x port / ((k-1)/k if the ring goes through nodes, else 1) inside a node and
//           network_efficiency x card x k between nodes, k the members in a node.
// The plan waits what does not grow with the link's rate and moves the rest. Source: NCCL 2.30.7 src/device/prims_*.h,
// src/enqueue.cc; the values are fitted (configs/libraries), nothing to chains.
#pragma once

#include "network/collectives/collective.hpp"

namespace warploom {

// What an algorithm asks to be moved.
struct Movement {
  FlowPattern pattern = FlowPattern::ring;
  Bytes flow_bytes{0};      // payload of one flow
  std::int64_t steps = 0;   // that follow each other
  std::int64_t passes = 1;  // times around the ring (all-reduce: 2)
  double hbm_bytes = 2;     // of a device for a byte of one of its flows
};

const ProtocolSpec& protocol_of(const LibrarySpec& library, Protocol protocol);

// That the members of a node have between them.
double cards_of(const Setting& setting);

// Payload that the cards of a node's members carry together, one way.
Bandwidth cards_rate(const Setting& setting, const ProtocolSpec& protocol);

// Payload that a flow around all members reaches at most; LL between nodes no more than the library's own table says
// (tuner.ll), which its makers measured: a flag is looked for in every 8 bytes that come over the network.
Bandwidth ring_rate(const Setting& setting, Protocol protocol);

// Flows of the call's group, each of these bytes on the wire, at most at `limit`.
Bundle bundle_of(const Setting& setting, FlowPattern pattern, Bytes bytes, Bandwidth limit);

// Payload that one channel moves inside a node.
Bandwidth channel_pace(const Setting& setting, const ProtocolSpec& protocol);

// One step between nodes.
Time network_step(const Setting& setting, const ProtocolSpec& protocol);

// Once a call whose channels send messages of so many bytes of payload between nodes (TransportSpec::eager).
Time handshake_time(const Setting& setting, const ProtocolSpec& protocol, double message);

// NCCL's connections have eight slots (NCCL_STEPS, src/include/device.h): a sender fills one again when the network has
// answered for it (src/transport/net.cc: posted < done + maxDepth).
inline constexpr double connection_slots = 8;

// Payload that channels may have under way to the next rank of a ring: each its buffer, NCCL_BUFFSIZE under Simple.
// 0: any, of libraries with other buffers.
Bytes ring_window(const Setting& setting, Protocol protocol, std::int64_t channels);

// Mean rate of a flow of these bytes that goes at `rate` while no more than `window` is unanswered. The first window
// goes at once, the rest at a window a round trip of the wires to the farthest neighbour (what the ends take for an
// answer is not counted):
//   bytes / (window / rate + (bytes - window) x round trip / window), where window < rate x round trip.
Bandwidth windowed_rate(const Setting& setting, Bandwidth rate, Bytes bytes, Bytes window);

Plan ring_plan(const Setting& setting, Protocol protocol, const Movement& movement);

// `start` of the equation above.
Time start_time(const ProtocolSpec& protocol, const struct ChannelUse& use);

}  // namespace warploom
