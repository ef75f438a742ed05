// SPDX-License-Identifier: Apache-2.0
// How long rounds take: the alpha-beta-gamma model, with the bytes left to the fabric.
//
// Equations, protocol p, a round that moves m bytes on each of f flows of a member:
//   alpha = hop if all its flows stay in their nodes, else network_hop + wires and switches of the longest way
//   beta  = m / rate, rate = efficiency x port / f inside a node, network_efficiency x card / f' for the f' flows of a
//           member that leave it; less where links are shared, which is the fabric's business
//   gamma = f m / reduce_rate where the receiver adds (0: no time of its own)
// A call: start + sum over its rounds. Lockstep: a round begins when the one before has ended everywhere, so that the
// largest flow of a round stands for all. Source: Thakur, Rabenseifner, Gropp, IJHPCA 2005; hicann/hccl
// docs/zh/user_guide/coll_algo_intro.
#pragma once

#include <vector>

#include "network/collectives/rounds/round_algorithm.hpp"

namespace warploom {

// Rounds of one level: along `axis`, with pieces of `piece` bytes.
struct Phase {
  std::vector<Round> rounds;
  Axis axis;
  double piece = 0;  // bytes
};

Plan round_plan(const Setting& setting, Protocol protocol, const std::vector<Phase>& phases);

// One round, its repeats together; without a bundle where nothing moves.
PlanStep round_step(const Setting& setting, Protocol protocol, const Round& round, const Phase& phase);

// A plan without steps: SMs, and HBM traffic where `share` of the bytes that arrive are reduced.
Plan empty_plan(const Setting& setting, Protocol protocol, double share);
Time call_start(const Setting& setting, Protocol protocol);

// What the plan takes if every flow goes at its limit: the cost by which a library chooses.
Time time_alone(const Plan& plan);

// Of a traffic's flows: whether any leaves its node, and the longest way.
struct Reach {
  bool leaves_node = false;
  Time latency;
};
Reach reach_of(const Traffic& traffic, const Group& group, const Topology& topology);

}  // namespace warploom
