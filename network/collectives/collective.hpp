// SPDX-License-Identifier: Apache-2.0
// A way to do one kind of call: whether the library could, its plan for the executor, and its chunk schedule for the
// proof.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "network/collectives/choice.hpp"
#include "network/collectives/group_profile.hpp"
#include "network/collectives/library.hpp"
#include "network/topology.hpp"
#include "sim/play/ports.hpp"

namespace warploom {

// Chunk `chunk` goes from one rank to another in a step; the receiver adds it to what it has, or keeps it instead.
struct Transfer {
  int step = 0;
  int from = 0;
  int to = 0;
  int chunk = 0;
  bool reduce = false;
};

// What the algorithm does, chunk by chunk; all sends of a step read what was there before it. Chunks are equal parts of
// the buffer that the call counts (all-to-all: of all ranks' buffers).
struct Schedule {
  int ranks = 0;
  int chunks = 0;
  std::vector<Transfer> transfers;
};

// A call and all that its plan may depend on.
struct Setting {
  const Call& call;
  const Group& group;
  const GroupProfile& profile;
  const Topology& topology;
  const LibrarySpec& library;  // at its version

  std::int64_t ranks() const { return profile.members; }
};

class RoundAlgorithm;

class Collective {
 public:
  virtual ~Collective() = default;
  virtual CollectiveKind kind() const = 0;
  virtual Algorithm algorithm() const = 0;
  // The library has it for such a group. Protocols that are switched off are not asked for.
  virtual bool is_possible(const Setting& setting, Protocol protocol) const = 0;
  // The library would choose it by itself if it is quickest by its own estimate.
  virtual bool is_offered(const Setting& /*setting*/, Protocol /*protocol*/) const { return true; }
  // Of a group of two members at least.
  virtual Plan plan(const Setting& setting, Protocol protocol) const = 0;
  virtual Schedule schedule(int ranks) const = 0;
  // What it does in lockstep, if it is no more than that (rounds/round_algorithm.hpp); else null.
  virtual const RoundAlgorithm* rounds() const { return nullptr; }
};

}  // namespace warploom
