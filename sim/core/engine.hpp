// SPDX-License-Identifier: Apache-2.0
// The clock and the queue: events in the order (time, late, sequence), so that a run is total and deterministic.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/units.hpp"

namespace warploom {

// Receives events; `payload` is whatever it scheduled.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void on_event(std::uint64_t payload) = 0;
};

// A flat 4-ary heap of 16-byte keys over a table of event slots. Cancelled events are dropped when they surface, or
// when they are more than half of the heap. No allocation per event once the tables have grown to the peak of pending
// events.
class Engine {
 public:
  // Names a pending event; stays safe to cancel after the event ran (then it does nothing).
  struct EventId {
    std::uint32_t slot = UINT32_MAX;
    std::uint32_t generation = 0;
  };

  Time now() const { return now_; }
  // No event runs before it (it may itself have been cancelled); Time::max() when none is left.
  Time next_time() const { return heap_.empty() ? Time::max() : Time::picoseconds(heap_.front().time); }
  std::uint64_t processed() const { return processed_; }
  std::size_t pending() const { return heap_.size() - cancelled_; }

  // Runs `sink.on_event(payload)` at `time` (>= now, else InternalError), after everything already scheduled for then.
  EventId at(Time time, EventSink& sink, std::uint64_t payload) { return push(time, sink, payload, 0); }
  // The same, but after every ordinary event of that moment, those still to come included: the place to solve once
  // for everything that changed in one instant.
  EventId at_end_of(Time time, EventSink& sink, std::uint64_t payload) { return push(time, sink, payload, late_bit); }
  // True if the event was still pending.
  bool cancel(EventId id);

  // Runs the next event; false when there is none.
  bool step();
  void run() {
    while (step()) {
    }
  }

 private:
  // Sequence numbers are 39 bits below the late bit and above 24 bits of slot: 5.5e11 events, 1.6e7 pending.
  static constexpr int slot_bits = 24;
  static constexpr int sequence_bits = 63 - slot_bits;
  static constexpr std::uint64_t late_bit = std::uint64_t{1} << 63;
  struct Key {
    std::int64_t time;
    std::uint64_t order;  // late bit, sequence, slot
  };
  struct Slot {
    EventSink* sink = nullptr;
    std::uint64_t payload = 0;
    std::uint32_t generation = 0;
    bool cancelled = false;
  };
  static bool before(const Key& a, const Key& b) { return a.time != b.time ? a.time < b.time : a.order < b.order; }
  static std::uint32_t slot_of(const Key& key) {
    return static_cast<std::uint32_t>(key.order & ((1U << slot_bits) - 1));
  }

  EventId push(Time time, EventSink& sink, std::uint64_t payload, std::uint64_t late);
  Key pop();
  void sift_down(std::size_t hole, Key key);
  void release(std::uint32_t slot);
  void drop_cancelled();

  Time now_ = Time::zero();
  std::uint64_t sequence_ = 0;
  std::uint64_t processed_ = 0;
  std::size_t cancelled_ = 0;
  std::vector<Key> heap_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
};

}  // namespace warploom
