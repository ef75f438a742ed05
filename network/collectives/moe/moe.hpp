// SPDX-License-Identifier: Apache-2.0
// MoE dispatch and combine: the plan by the mode that the call asks for, and who sends what to whom.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "network/collectives/collective.hpp"
#include "sim/work/moe_traffic.hpp"

namespace warploom {

constexpr bool is_moe(CollectiveKind kind) {
  return kind == CollectiveKind::moe_dispatch || kind == CollectiveKind::moe_combine;
}

// Throws UserError for a call that cannot be, and for a library that has no such kernels.
Plan plan_moe(const Setting& setting);

// The experts that a token chose, and where it is.
struct MoeToken {
  std::int64_t rank = 0;
  std::vector<std::int64_t> experts;
};

// A message of one token. Dispatch: the token. Combine: what has been summed of its contributions so far.
struct MoeTransfer {
  int step = 0;
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t token = 0;    // index
  std::int64_t expert = -1;  // that the message is for or from; -1: for all of its rank
};

struct MoePlaces {
  std::int64_t ranks = 1;
  std::int64_t node_size = 1;
  std::int64_t experts = 1;

  std::int64_t rank_of(std::int64_t expert) const { return expert / (experts / ranks); }
};

// Dispatch; a combine sends the same back, last step first, and sums where a dispatch parts ways. Messages to itself
// are none.
std::vector<MoeTransfer> moe_transfers(MoeMode mode, const MoePlaces& places, std::span<const MoeToken> tokens);

}  // namespace warploom
