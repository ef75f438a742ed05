// SPDX-License-Identifier: Apache-2.0
// Where tokens go: how many ranks and nodes hold chosen experts of a token, what a message of it weighs, how uneven the
// ranks' loads are.
//
// Equation: k distinct experts of E, all sets alike. Of L experts in one place (a rank, a node) none is chosen with
//   miss(L) = C(E - L, k) / C(E, k) = prod_{i<k} (E - L - i) / (E - i),
// so that a token has (E / L) (1 - miss(L)) places. Where gating keeps a token to G of M nodes, the same holds of the
// E G / M experts of those.
#pragma once

#include <cstdint>
#include <span>

#include "sim/core/units.hpp"
#include "sim/work/call.hpp"
#include "sim/work/moe_traffic.hpp"

namespace warploom {

struct MoeReach {
  double ranks = 1;  // that a token goes to, the own one among them
  double nodes = 1;
};

// Ranks lie evenly in `nodes`. Throws UserError for what cannot be: see require_possible.
MoeReach moe_reach(const MoeTraffic& traffic, std::int64_t ranks, std::int64_t nodes);

// A token on its way to or from one rank (normal) or one expert (low latency): elements, scales, header.
Bytes moe_message(const MoeTraffic& traffic, CollectiveKind kind);

// What a rank sends in all, to itself too: the bytes that its bandwidth is counted by.
Bytes moe_bytes(const MoeTraffic& traffic, CollectiveKind kind, std::int64_t ranks, std::int64_t nodes);

// Assignments of the most loaded rank over the mean, experts in order over the ranks; `loads`: tokens of each expert. 1
// where nothing is loaded. Throws UserError for experts that the ranks do not divide, and for negative loads.
double rank_imbalance(std::span<const std::int64_t> loads, std::int64_t ranks);

// Throws UserError that says what is wrong.
void require_possible(const MoeTraffic& traffic, std::int64_t ranks, std::int64_t nodes);

}  // namespace warploom
