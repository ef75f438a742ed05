// SPDX-License-Identifier: Apache-2.0
// Opening the next bucket.
#include "network/packet/event_wheel.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace warploom {

namespace {

// Types, not functions, so that sorting has them inline.
struct Before {
  bool operator()(const EventWheel::Event& a, const EventWheel::Event& b) const {
    return a.time != b.time ? a.time < b.time : a.order < b.order;
  }
};
struct Later {
  bool operator()(const EventWheel::Event& a, const EventWheel::Event& b) const { return Before()(b, a); }
};

constexpr double events_per_bucket = 2;

}  // namespace

EventWheel::EventWheel(double events_per_ps)
    : heads_(static_cast<std::size_t>(buckets), none), occupied_(static_cast<std::size_t>(buckets) / 64) {
  const double width = events_per_ps > 0 ? events_per_bucket / events_per_ps : 4096;
  shift_ = std::clamp(static_cast<int>(std::lround(std::log2(std::max(width, 1.0)))), 4, 20);
}

void EventWheel::insert(std::int64_t time, std::uint32_t payload) {
  if (at_ == current_.size()) {
    current_.clear();
    at_ = 0;
  }
  current_.emplace_back();
  std::size_t hole = current_.size() - 1;
  for (; hole > at_ && current_[hole - 1].time > time; --hole) current_[hole] = current_[hole - 1];
  current_[hole] = {time, payload, 0};
}

void EventWheel::push_far(std::int64_t time, std::uint32_t payload) {
  far_.push_back({time, payload, far_order_++});
  std::ranges::push_heap(far_, Later());
}

// The number of the next bucket that holds something, `never` if none does.
std::int64_t EventWheel::next_occupied() const {
  const std::int64_t first = open_ + 1;
  const auto words = static_cast<std::int64_t>(occupied_.size());
  std::int64_t word = (first & mask) / 64;
  std::uint64_t bits = occupied_[static_cast<std::size_t>(word)] & (~std::uint64_t{0} << (first & 63));
  for (std::int64_t i = 0; i <= words; ++i) {
    if (bits != 0) {
      const std::int64_t slot = word * 64 + std::countr_zero(bits);
      return first + ((slot - first) & mask);
    }
    word = (word + 1) % words;
    bits = occupied_[static_cast<std::size_t>(word)];
  }
  return never;
}

bool EventWheel::open_next() {
  if (size_ == 0) return false;
  current_.clear();
  at_ = 0;
  std::int64_t bucket = next_occupied();
  if (!far_.empty()) bucket = std::min(bucket, far_.front().time >> shift_);
  open_ = bucket;
  open_end_ = (bucket + 1) << shift_;
  while (!far_.empty() && far_.front().time < open_end_) {
    current_.push_back(far_.front());
    std::ranges::pop_heap(far_, Later());
    far_.pop_back();
  }
  const std::size_t from_far = current_.size();
  auto& head = heads_[static_cast<std::size_t>(bucket & mask)];
  // After a far event has moved the wheel on, the slot may still hold the events of this very bucket only: nothing is
  // ever pushed a full turn ahead.
  while (head != none) {
    const Node node = nodes_[head];
    nodes_[head].next = free_;
    free_ = head;
    head = node.next;
    current_.push_back({node.time, node.payload, 0});
  }
  occupied_[static_cast<std::size_t>(bucket & mask) / 64] &= ~(std::uint64_t{1} << (bucket & 63));
  std::reverse(current_.begin() + static_cast<std::ptrdiff_t>(from_far), current_.end());
  for (std::size_t i = 0; i < current_.size(); ++i) current_[i].order = static_cast<std::uint32_t>(i);
  if (current_.size() > 24) {
    if (std::is_sorted(current_.begin(), current_.end(), Before())) return true;  // many of one moment
    std::sort(current_.begin(), current_.end(), Before());
    return true;
  }
  for (std::size_t i = 1; i < current_.size(); ++i) {
    const Event event = current_[i];
    std::size_t hole = i;
    for (; hole > 0 && current_[hole - 1].time > event.time; --hole) current_[hole] = current_[hole - 1];
    current_[hole] = event;
  }
  return true;
}

}  // namespace warploom
