// SPDX-License-Identifier: Apache-2.0
// The packet fabric's own queue of events: a timing wheel, 16 bytes an event, order (time, order of pushing) at all
// times.
//
// Of 2^k buckets of one width each holds a list; the bucket that is open is a sorted array, into which what falls
// inside it is inserted; what lies beyond the wheel waits in a heap. Push and pop are O(1) where the width is chosen
// so that a bucket holds a few events. Source: Varghese and Lauck, "Hashed and hierarchical timing wheels", SOSP 1987;
// Brown, "Calendar queues", CACM 1988.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace warploom {

class EventWheel {
 public:
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
  struct Event {
    std::int64_t time = 0;  // ps
    std::uint32_t payload = 0;
    std::uint32_t order = 0;  // of pushing, within a bucket
  };

  // `events_per_ps`: how many are expected, for the width of a bucket.
  explicit EventWheel(double events_per_ps);

  void push(std::int64_t time, std::uint32_t payload) {
    ++size_;
    if (time < open_end_) return insert(time, payload);
    const std::int64_t bucket = time >> shift_;
    if (bucket - open_ >= buckets) return push_far(time, payload);
    std::uint32_t node = free_;
    if (node != none) {
      free_ = nodes_[node].next;
    } else {
      node = static_cast<std::uint32_t>(nodes_.size());
      nodes_.emplace_back();
    }
    auto& head = heads_[static_cast<std::size_t>(bucket & mask)];
    nodes_[node] = {time, payload, head};
    if (head == none) occupied_[static_cast<std::size_t>(bucket & mask) / 64] |= std::uint64_t{1} << (bucket & 63);
    head = node;
  }

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  // Of the earliest event; `never` when there is none.
  std::int64_t next_time() {
    if (at_ == current_.size() && !open_next()) return never;
    return current_[at_].time;
  }
  // After next_time() has found one.
  Event pop() {
    --size_;
    return current_[at_++];
  }
  // Of the one after it, if that is near; else null.
  const Event* coming() const { return at_ < current_.size() ? &current_[at_] : nullptr; }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;
  static constexpr std::int64_t buckets = 8192;
  static constexpr std::int64_t mask = buckets - 1;
  struct Node {
    std::int64_t time;
    std::uint32_t payload;
    std::uint32_t next;
  };

  void insert(std::int64_t time, std::uint32_t payload);
  void push_far(std::int64_t time, std::uint32_t payload);
  bool open_next();
  std::int64_t next_occupied() const;

  int shift_ = 12;
  std::size_t size_ = 0;
  std::vector<Event> current_;  // of the open bucket, sorted
  std::size_t at_ = 0;
  std::int64_t open_ = -1;     // number of the open bucket
  std::int64_t open_end_ = 0;  // events before it are in current_
  std::uint32_t free_ = none;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> heads_;
  std::vector<std::uint64_t> occupied_;
  std::vector<Event> far_;  // heap
  std::uint32_t far_order_ = 0;
};

}  // namespace warploom
