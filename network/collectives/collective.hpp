// SPDX-License-Identifier: Apache-2.0
// A way to do one kind of call: its plan for the executor, and its chunk schedule for the proof.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

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

class Collective {
 public:
  virtual ~Collective() = default;
  virtual CollectiveKind kind() const = 0;
  virtual Plan plan(const Call& call, const Group& group, const Topology& topology,
                    const LibrarySpec& library) const = 0;
  virtual Schedule schedule(int ranks) const = 0;
};

}  // namespace warploom
