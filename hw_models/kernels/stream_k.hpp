// SPDX-License-Identifier: Apache-2.0
// Stream-K: the tiles of the last waves laid end to end along k and cut into as many equal stretches as there are
// workers, so that all end at once whatever the number of tiles.
//
// A stretch may end one tile, hold whole ones and begin another. Who computes the last k of a tile adds what the others
// have left in memory (its peers) and writes the result; who only begins one leaves its sums there. All earlier waves
// are whole tiles. Sources: Osama et al., PPoPP 2023 (arXiv:2301.03598); NVIDIA CUTLASS 3, tile_scheduler_params.h: the
// first two waves' worth where the last is not full, at least 8 steps a stretch, nothing where a tile has no more.
#pragma once

#include <cstdint>
#include <vector>

namespace warploom {

// What one worker does: in this order.
struct StreamKWork {
  std::int64_t begun = 0;     // steps of a tile that it does not end: its sums go to memory
  std::int64_t whole = 0;     // tiles
  std::int64_t finished = 0;  // steps of a tile that others began
  std::int64_t peers = 0;     // who did
  friend bool operator==(const StreamKWork&, const StreamKWork&) = default;
};

// `least`: steps below which a stretch of a tile is left to the neighbour: a pipeline has to be filled. Empty where
// nothing is gained: all waves are full, or tiles are too shallow.
std::vector<StreamKWork> stream_k_work(std::int64_t tiles, std::int64_t steps, std::int64_t workers,
                                       std::int64_t least);

inline constexpr std::int64_t stream_k_least_steps = 8;  // of a worker (CUTLASS)

// The same in short: waves of the longest worker, and tiles' sums that go through memory.
struct StreamKCost {
  double waves = 0;
  double stored = 0;  // written once each, and read once
};
StreamKCost stream_k_cost(double tiles, double steps, double workers);

}  // namespace warploom
