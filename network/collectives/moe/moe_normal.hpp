// SPDX-License-Identifier: Apache-2.0
// Normal dispatch and combine: a token once to every rank that holds chosen experts of it, over few SMs and queues in
// the receivers' memory.
//
// Equations, N tokens of a rank, m bytes each, r ranks that a token meets of R (moe_reach.hpp), p = r / R, c = SMs / 2
// channels, R' ranks in a node, W warps of a channel that copy, `hop` a step of LL:
//   copy   = (copy_hops hop + m / warp_rate) / (W / R')              of a token to one rank of the node
//   pace   = scan + scan_hops hop + p copy                           of a channel for each of its tokens: all ranks at
//            once, and every token is looked at for every rank
//   combine: pace = max(of that, m / 512 (reduce_step + r reduce_read) / reduce_warps): the sums are made by warps that
//            wait for memory
//   SMs    = ceil(N / c) pace (1 + crowding (c - 1))
//   port   = N r m (R' - 1) / R' over the node port, at `efficiency`
//   time   = base + hops hop + fill + max(SMs, port)
// Several nodes: a token goes once to each node that it meets (n of M), to the device on the own rail, which passes it
// on. All of it overlaps, and the slowest decides:
//   card   = N n m (M - 1) / M over the card, at `network_efficiency`
//   SMs    = N r / (R' c) copy with W = forward_warps, crowded as above
//   time   = base + hops hop + network_hop + paths + fill + first chunks of all channels + max(card, port, SMs)
// The most loaded rank decides: `imbalance` times the assignments meet it with 1 - (1 - p)^imbalance.
// Source: DeepEP csrc/kernels/intranode.cu and internode.cu (channels, warps, queues, rails); constants fitted to
// measured calls (configs/libraries/deepep.yaml), nothing of several nodes but `network_efficiency`.
// Assumes the layout known (a cached handle, as the measured calls have it): the counting kernels and the host's wait
// for the counts are not in it. Not modelled: the size of the queues, worst-case receives.
#pragma once

#include "network/collectives/collective.hpp"

namespace warploom {

Plan plan_moe_normal(const Setting& setting);

}  // namespace warploom
