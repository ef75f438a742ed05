// SPDX-License-Identifier: Apache-2.0
// Steady state: what repeats within a cycle (or the share that Steadiness allows) twice, or on average, is counted
// instead of played.
#include "hw_models/systemc/steady_state.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "hw_models/systemc/sm.hpp"

namespace warploom::detailed {

void Rotation::follow(const void* whom, double now, const SmCounts& counts) {
  *this = Rotation();
  whom_ = whom;
  start_ = half_start_ = now;
  then_ = half_then_ = counts;
}

std::optional<Repeated> Rotation::come_round(double now, double backlog, const SmCounts& counts,
                                             const Steadiness& steadiness) {
  const int patience = steadiness.patience;
  const double cycles = now - start_;
  const double tolerance = std::max(1.0, steadiness.tolerance * cycles);
  const bool is_alike = std::abs(cycles - last_) <= tolerance && backlog - backlog_ <= std::max(4.0, 0.01 * cycles);
  alike_ = is_alike ? alike_ + 1 : 0;
  backlog_ = backlog;
  ++seen_;
  Repeated repeated{cycles, counts};
  repeated.counts.add(then_, -1);
  last_ = cycles;
  start_ = now;
  then_ = counts;
  if (alike_ >= 2 && seen_ > 3) return repeated;
  if (2 * seen_ == patience) {
    half_start_ = now;
    half_then_ = counts;
  }
  if (seen_ < patience) return {};
  const double times = seen_ - patience / 2;
  Repeated mean{(now - half_start_) / times, {}};
  mean.counts.add(counts, 1 / times);
  mean.counts.add(half_then_, -1 / times);
  seen_ = 0;
  half_start_ = now;
  half_then_ = counts;
  return mean;
}

bool Sm::skip_turns(std::size_t depth, const Repeated& repeated) {
  constexpr std::int64_t kept = 2;  // rotations that are still played
  std::int64_t rotations = std::numeric_limits<std::int64_t>::max();
  for (const auto& block : blocks_) {
    for (const auto& warp : block->warps) {
      if (warp->is_done) continue;
      if (const Turn* turn = warp->main_turn(static_cast<int>(depth))) {
        rotations = std::min(rotations, turn->left / turn->stages - kept);
      } else if (!warp->is_waiting) {
        return false;  // not all are in the loop
      }
    }
  }
  if (rotations < 1 || rotations == std::numeric_limits<std::int64_t>::max()) return false;
  const auto times = static_cast<double>(rotations);
  for (const auto& block : blocks_) {
    for (const auto& warp : block->warps) {
      if (Turn* turn = warp->main_turn(static_cast<int>(depth))) {
        turn->left -= rotations * turn->stages;
      } else if (warp->is_waiting) {
        warp->ready -= times * repeated.cycles;  // it has waited so much longer
      }
    }
  }
  counts_.add(repeated.counts, times);
  skipped_ += times * repeated.cycles;
  return true;
}

bool Sm::skip_waves(const Repeated& repeated) {
  constexpr std::int64_t kept = 2;
  const std::int64_t waves = source_.alike() / places_ - kept;
  if (waves < 1) return false;
  work_ += block_work_ * static_cast<double>(waves * places_);
  source_.skip(waves * places_);
  counts_.add(repeated.counts, static_cast<double>(waves));
  skipped_ += static_cast<double>(waves) * repeated.cycles;
  return true;
}

}  // namespace warploom::detailed
