// SPDX-License-Identifier: Apache-2.0
// Two sequences of operations laid on each other: which one of the first is which one of the second, in order.
//
// The pairs of the highest total score (Needleman-Wunsch without a price of gaps). A product or an attention whose
// shapes are known on both sides is only ever paired with one of equal shape; where a side does not know the shape the
// class, and what the name says, decide. Sequences whose table would not fit `exact_cells` are first cut at operations
// that occur once on either side; what is still too long is walked by windows of `window` operations a side: then no
// more than about a quarter of a window may be missing in one place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "traces/capture.hpp"

namespace warploom {

// What the name of an operation says beside its class.
enum class OverlayWord : std::uint8_t {
  nothing,
  softmax,
  embedding,
  dropout,
  activation,
  rotary,
  optimizer,
  copy,
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  broadcast,
  point_to_point,
  rooted,  // reduce, gather, scatter
};

struct OverlayToken {
  OpClass op_class = OpClass::other;
  OverlayWord word = OverlayWord::nothing;
  std::uint64_t shape = 0;  // equal where the shapes are; 0: not known
  Nanoseconds duration = 0;
};

// How well they fit; 0: they are never paired.
int pair_score(const OverlayToken& a, const OverlayToken& b);

struct AlignLimits {
  std::size_t exact_cells = std::size_t{1} << 25;
  std::size_t window = 256;
};

struct Alignment {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;  // ascending on both sides
  std::int64_t score = 0;
  bool is_exact = true;  // no pairs of a higher score exist
};

Alignment align(std::span<const OverlayToken> a, std::span<const OverlayToken> b, const AlignLimits& limits = {});

}  // namespace warploom
