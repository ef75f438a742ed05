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
                                             const Steadiness& steadiness, const Others& others) {
  begins_ = false;
  const int patience = steadiness.patience;
  const double cycles = now - start_;
  const double tolerance = std::max(1.0, steadiness.tolerance * cycles);
  const bool is_alike =
      others.keep_step && std::abs(cycles - last_) <= tolerance && backlog - backlog_ <= std::max(4.0, 0.01 * cycles);
  alike_ = is_alike ? alike_ + 1 : 0;
  backlog_ = backlog;
  ++seen_;
  Repeated repeated{cycles, counts};
  repeated.counts.add(then_, -1);
  last_ = cycles;
  start_ = now;
  then_ = counts;
  if (alike_ >= 2 && seen_ > 3 && others.came_round) return repeated;
  if (2 * seen_ == patience) {
    begins_ = true;
    half_start_ = now;
    half_then_ = counts;
  }
  if (seen_ < patience) return {};
  const int first_half = patience / 2;
  const double times = seen_ - first_half;
  Repeated mean{(now - half_start_) / times, {}, times};
  mean.counts.add(counts, 1 / times);
  mean.counts.add(half_then_, -1 / times);
  seen_ = 0;
  begins_ = true;
  half_start_ = now;
  half_then_ = counts;
  return mean;
}

Others Sm::others(int depth) {
  bool came_round = true;
  for (const auto& block : blocks_) {
    for (const auto& warp : block->warps) {
      Turn* turn = warp->main_turn(depth);
      if (turn == nullptr) continue;
      came_round = came_round && turn->last - turn->left == turn->stages;
      turn->last = turn->left;
    }
  }
  return {keep_step(depth), came_round};
}

bool Sm::keep_step(int depth) const {
  constexpr double apart = 0.3;  // rotations
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  for (const auto& block : blocks_) {
    const double rotations = block->rotations(depth);
    least = std::min(least, rotations);
    most = std::max(most, rotations);
  }
  return most - least <= apart;
}

void Sm::mark_turns(int depth) {
  for (const auto& block : blocks_) {
    for (const auto& warp : block->warps) {
      if (Turn* turn = warp->main_turn(depth)) turn->marked = turn->last = turn->left;
    }
  }
}

const Warp* Sm::fastest_like(const Warp& warp, int depth) const {
  constexpr double faster = 2;
  const Block* chosen = warp.block;
  for (const auto& block : blocks_) {
    if (block->rotations(depth) > faster * chosen->rotations(depth)) chosen = block.get();
  }
  return chosen->warps[static_cast<std::size_t>(warp.lane)].get();
}

bool Sm::skip_turns(int depth, const Block* leader, const Repeated& repeated, double now) {
  constexpr double kept = 2;  // rotations that are still played
  // Bytes that are counted instead of played do not stand in the others' way: where they would, all is played.
  constexpr double in_the_way = 0.7;
  if (!is_alone_ && memory_.asked(repeated.counts, repeated.cycles, rates_.device->sm.count) > in_the_way) return false;
  // Schedulers prefer some blocks: each goes on at its own pace, as often as none of them ends.
  const auto pace = [&](const Block* block) {
    return block == leader || repeated.times == 1 ? 1 : block->rotations(depth) / repeated.times;
  };
  double rotations = std::numeric_limits<double>::infinity();
  for (const auto& block : blocks_) {
    const double each = std::max(pace(block.get()), 1e-9);
    for (const auto& warp : block->warps) {
      if (warp->is_done) continue;
      if (const Turn* turn = warp->main_turn(depth)) {
        const std::int64_t whole = turn->left / turn->stages;
        rotations = std::min(rotations, std::floor((static_cast<double>(whole) - kept) / each));
      } else if (!warp->is_waiting) {
        return false;  // not all are in the loop
      }
    }
  }
  if (rotations < 1 || rotations == std::numeric_limits<double>::infinity()) return false;
  for (const auto& block : blocks_) {
    const std::int64_t own = std::llround(std::floor(rotations * pace(block.get())));
    for (const auto& warp : block->warps) {
      if (Turn* turn = warp->main_turn(depth)) {
        turn->left -= own * turn->stages;
      } else if (warp->is_waiting && is_alone_) {
        warp->ready -= rotations * repeated.cycles;  // it has waited so much longer
      }
    }
  }
  counts_.add(repeated.counts, rotations);
  if (is_alone_) {
    skipped_ += rotations * repeated.cycles;
  } else {
    shift(now, std::ceil(rotations * repeated.cycles));
  }
  return true;
}

void Sm::shift(double now, double cycles) {
  for (SubPartition& part : parts_) {
    part.port = std::max(part.port, now) + cycles;
    for (Server* unit : {&part.fma, &part.alu, &part.sfu, &part.tensor}) unit->shift(cycles);
  }
  for (Server* unit : {&shared_, &port_, &tensor_memory_, &tensor_, &starter_}) unit->shift(cycles);
  for (const auto& block : blocks_) {
    for (const auto& warp : block->warps) {
      if (!warp->is_waiting) warp->ready = std::max(warp->ready, now) + cycles;
      for (std::deque<double>* ends : {&warp->products, &warp->loads, &warp->stores}) {
        for (double& end : *ends) end += cycles;
      }
    }
  }
  std::vector<Arrival> due;
  for (; !arrivals_.empty(); arrivals_.pop()) due.push_back(arrivals_.top());
  for (Arrival& arrival : due) {
    arrival.time += cycles;
    arrivals_.push(arrival);
  }
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
