// SPDX-License-Identifier: Apache-2.0
// What a phase of an ASTRA-sim collective sends: how often, how much, between whom.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/play/ports.hpp"
#include "workloads/astra_sim/collective.hpp"

namespace warploom {

// K rounds of messages of m bytes, of which R are reduced.
struct AstraCounts {
  std::int64_t rounds = 0;
  std::int64_t reductions = 0;
  std::int64_t message = 0;
};
AstraCounts astra_counts(const AstraPhase& phase);  // of ring and direct

// Of direct with a window: messages that one after another go to all.
std::int64_t astra_direct_rounds(const AstraPhase& phase);

// One round of halving-doubling or of a binary tree.
struct AstraRound {
  std::int64_t distance = 0;  // exchange with member i xor distance; 0: the edges of a tree level
  int level = 0;              // of the children; up: they send to their parents
  bool up = false;
  std::int64_t bytes = 0;
  bool reduces = false;
};
std::vector<AstraRound> astra_rounds(const AstraPhase& phase);

std::string astra_phase_name(const AstraPhase& phase);  // "ring all_reduce of 8"

// The same as bundles of a fabric.
class AstraStepWriter {
 public:
  AstraStepWriter(const AstraPhase& phase, const AstraMembers& members, GroupId group);
  Bundle ring(std::int64_t bytes, std::int64_t first) const;
  std::vector<std::vector<Bundle>> direct(std::int64_t message) const;  // one list a round
  Bundle round(const AstraRound& round) const;
  Bundle rooted(bool is_chain, bool is_inward, std::int64_t bytes) const;  // to or from member 0

 private:
  Bundle bundle(FlowPattern pattern, std::int64_t bytes) const;
  // Members i -> j of the phase as pairs of the group's.
  Bundle listed(const std::vector<std::pair<std::int64_t, std::int64_t>>& pairs, std::int64_t bytes) const;

  const AstraPhase& phase_;
  const AstraMembers& members_;
  GroupId group_;
  Axis axis_;
};

}  // namespace warploom
