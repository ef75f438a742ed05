// SPDX-License-Identifier: Apache-2.0
// The cost of a pattern of flows under each protocol, and the choice of the cheapest, as the library does.
//
// Equation, a protocol p: time = base + (steps - inter) x hop + inter x network_hop + paths + ramp + bytes x wire /
// rate,
//   inter = passes x (nodes - 1) steps between nodes, paths = passes x what wires and switches add on them,
//   ramp = p.ramp x B / (B + p.ramp_bytes) of a call of B bytes,
//   rate = wire x the least of efficiency x port / ((k-1)/k if the ring goes through nodes, else 1) inside a node and
//          network_efficiency x card x k between nodes, k the members in a node.
// The first line is the shape of NCCL's own model (2.30.7, src/graph/tuning.cc); the ramp and all constants of a node
// are fitted to measurements (configs/libraries). Latency stands before the bytes; in truth it hides behind those of
// long calls. Assumes rings where NCCL would take NVLS (H100, 5 to 8 ranks of a node, 2 MiB and more) or trees
// (all-reduce over many nodes): those are not modelled yet, and such calls come out slower than NCCL's.
#pragma once

#include <string>

#include "network/collectives/group_profile.hpp"
#include "network/collectives/library.hpp"

namespace warploom {

// What an algorithm asks to be moved.
struct Movement {
  FlowPattern pattern = FlowPattern::ring;
  Bytes flow_bytes{0};             // payload of one flow
  std::int64_t steps = 0;          // that follow each other
  std::int64_t passes = 1;         // times around the ring (all-reduce: 2)
  double hbm_bytes = 2;            // of a device for a byte of one of its flows
  std::int64_t flows_at_once = 1;  // of a device
};

// The cheapest protocol's plan.
Plan cheapest_plan(const Call& call, const Group& group, const Movement& movement, const Topology& topology,
                   const LibrarySpec& library, std::string algorithm);

}  // namespace warploom
