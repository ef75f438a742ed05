// SPDX-License-Identifier: Apache-2.0
// Low-latency dispatch and combine: every token straight to every chosen expert, a buffer for each expert and source.
//
// Equations, N tokens of a rank, k experts each, E experts on R ranks, m bytes a message, `hop` a step of LL:
//   experts of an SM  g = ceil(E / device SMs), warps of an expert w = 32 / g, sending SMs S = ceil(E / g)
//   latency = hop (hops + group_hops (g - 1)) + token + m / token_rate    (+ network_hop + paths between nodes)
//   send    = max(N k m (R - 1) / R over the links, (rounds - 1) (token + m / token_rate)) + N k m / (S sm_rate)
//   rounds  = ceil(N / S) of a dispatch, whose SMs take tokens in turn; ceil(N k / E / w) of a combine, whose SMs serve
//             an expert each
//   receive = max(bytes through memory, (ceil(N k / E / w) - 1) receive_round)
//   time    = latency + send + receive: the receiving half starts when all counts and flags are there.
// The most loaded rank decides: its links and SMs take `imbalance` times the mean. Links at `efficiency`, all pairs at
// once; between nodes straight to the target, so that the spine carries it. On Hopper a device stores into others at
// `device_rate` at most, as measured combines show, whose TMA stores get no further than 252 GB/s on any link.
// Source: DeepEP csrc/kernels/internode_ll.cu (launch configuration, phases, messages); constants fitted to measured
// calls (configs/libraries/deepep.yaml).
// Assumes that receive buffers are there (capacity of max(128, tokens)), that both halves are one kernel (no receive
// hook), and a token's experts anywhere alike. Not modelled: LogFMT, zero copy, masked ranks.
#pragma once

#include "network/collectives/collective.hpp"

namespace warploom {

Plan plan_moe_low_latency(const Setting& setting);

}  // namespace warploom
