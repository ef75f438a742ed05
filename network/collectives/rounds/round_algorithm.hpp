// SPDX-License-Identifier: Apache-2.0
// An algorithm in lockstep rounds among n members: what each round moves, for the plan, and every chunk, for the proof.
//
// The same rounds serve a flat collective (all members), a level of a hierarchical one (the members of a node, the
// nodes) and a library that picks an algorithm for each level (HCCL).
#pragma once

#include <cstdint>
#include <vector>

#include "network/collectives/collective.hpp"

namespace warploom {

// Equal rounds that follow each other. The buffer has as many pieces as there are members.
struct Round {
  FlowPattern pattern = FlowPattern::shift;
  std::int64_t distance = 0;
  std::int64_t pieces = 0;   // that a flow moves in one of the rounds; where flows differ, the most
  std::int64_t repeats = 1;  // rounds
  std::int64_t fan = 1;      // flows that leave a member at once
  bool reduces = false;      // the receiver adds what arrives
};

class RoundAlgorithm {
 public:
  virtual ~RoundAlgorithm() = default;
  virtual Algorithm algorithm() const = 0;
  // Among reduce_scatter, all_gather, all_reduce and all_to_all.
  virtual bool has(CollectiveKind kind) const = 0;
  // Of n >= 2 members. All-to-all: the buffer is what one member sends, a piece to each.
  virtual std::vector<Round> rounds(CollectiveKind kind, std::int64_t members) const = 0;
  // Chunk c belongs to member c; all-to-all: chunk s * n + d goes from member s to member d.
  virtual Schedule schedule(CollectiveKind kind, int members) const = 0;
};

// Reduce-scatter, then all-gather, of an algorithm that has both.
std::vector<Round> two_passes(const RoundAlgorithm& algorithm, std::int64_t members);
Schedule two_passes_schedule(const RoundAlgorithm& algorithm, int members);

// The rounds of a reduce-scatter undone one by one: its all-gather.
std::vector<Round> undone(std::vector<Round> rounds);
Schedule undone(const Schedule& schedule);

int step_count(const Schedule& schedule);

}  // namespace warploom
