// SPDX-License-Identifier: Apache-2.0
// Who computes which steps.
#include "hw_models/kernels/stream_k.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace warploom {

namespace {

struct Waves {
  std::int64_t whole = 0;    // of whole tiles, before
  std::int64_t tiles = 0;    // that are cut
  std::int64_t workers = 0;  // that share them
};

Waves waves_of(std::int64_t tiles, std::int64_t steps, std::int64_t workers) {
  if (tiles % workers == 0 || steps <= stream_k_least_steps) return {};
  Waves waves;
  waves.whole = std::max<std::int64_t>(tiles / workers - 1, 0);
  waves.tiles = tiles - waves.whole * workers;
  waves.workers = std::clamp<std::int64_t>(waves.tiles * steps / stream_k_least_steps, 1, workers);
  return waves;
}

}  // namespace

std::vector<StreamKWork> stream_k_work(std::int64_t tiles, std::int64_t steps, std::int64_t workers,
                                       std::int64_t least) {
  const Waves waves = waves_of(tiles, steps, workers);
  std::vector<StreamKWork> list;
  if (waves.tiles == 0) return list;
  const std::int64_t all = waves.tiles * steps;
  // Where worker i begins; the edge of a tile if that is near.
  const auto begin = [&](std::int64_t i) {
    const std::int64_t at = all / waves.workers * i + all % waves.workers * i / waves.workers;
    const std::int64_t into = at % steps;
    if (into < least) return at - into;
    return steps - into < least ? at + steps - into : at;
  };
  std::int64_t peers = 0;  // that have begun the tile at hand
  for (std::int64_t i = 0; i < waves.workers; ++i) {
    StreamKWork work;
    work.whole = waves.whole;
    std::int64_t at = begin(i);
    const std::int64_t end = begin(i + 1);
    while (at < end) {
      const std::int64_t edge = at / steps * steps + steps;
      const bool is_end = edge <= end;
      const std::int64_t part = std::min(edge, end) - at;
      if (part == steps) {
        ++work.whole;
      } else if (is_end) {
        work.finished = part;
        work.peers = peers;
        peers = 0;
      } else {
        work.begun = part;
        ++peers;
      }
      at += part;
    }
    list.push_back(work);
  }
  return list;
}

StreamKCost stream_k_cost(double tiles, double steps, double workers) {
  const auto whole = [](double value) { return static_cast<std::int64_t>(std::clamp(value, 1.0, 1e15)); };
  const Waves waves = waves_of(whole(tiles), whole(steps), whole(workers));
  if (waves.tiles == 0) return {std::ceil(tiles / workers), 0};
  const auto shared = static_cast<double>(waves.tiles) / static_cast<double>(waves.workers);
  // A cut at the edge of a tile leaves nothing behind.
  const std::int64_t cuts = waves.workers - std::gcd(waves.tiles, waves.workers);
  return {static_cast<double>(waves.whole) + shared, static_cast<double>(cuts)};
}

}  // namespace warploom
