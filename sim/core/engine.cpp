// SPDX-License-Identifier: Apache-2.0
// The event queue's heap operations.
#include "sim/core/engine.hpp"

#include <algorithm>

#include "sim/core/errors.hpp"

namespace warploom {

Engine::EventId Engine::push(Time time, EventSink& sink, std::uint64_t payload, std::uint64_t late) {
  WARPLOOM_CHECK(time >= now_, "an event in the past: {} ps at {} ps", time.ps(), now_.ps());
  std::uint32_t slot = 0;
  if (free_.empty()) {
    slot = static_cast<std::uint32_t>(slots_.size());
    WARPLOOM_CHECK(slot < (1U << slot_bits), "more than {} events pending", 1U << slot_bits);
    slots_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  auto& entry = slots_[slot];
  entry.sink = &sink;
  entry.payload = payload;
  entry.cancelled = false;

  WARPLOOM_CHECK(sequence_ < (std::uint64_t{1} << sequence_bits), "more than 2^{} events", sequence_bits);
  const Key key{time.ps(), late | sequence_++ << slot_bits | slot};
  std::size_t hole = heap_.size();
  heap_.push_back(key);
  while (hole > 0) {
    const std::size_t parent = (hole - 1) / 4;
    if (!before(key, heap_[parent])) break;
    heap_[hole] = heap_[parent];
    hole = parent;
  }
  heap_[hole] = key;
  return {slot, entry.generation};
}

bool Engine::cancel(EventId id) {
  if (id.slot >= slots_.size()) return false;
  auto& slot = slots_[id.slot];
  if (slot.generation != id.generation || slot.cancelled) return false;
  slot.cancelled = true;
  ++cancelled_;
  if (cancelled_ > 64 && cancelled_ * 2 > heap_.size()) drop_cancelled();
  return true;
}

bool Engine::step() {
  while (!heap_.empty()) {
    const Key key = pop();
    const std::uint32_t index = slot_of(key);
    const Slot slot = slots_[index];
    release(index);
    if (slot.cancelled) {
      --cancelled_;
      continue;
    }
    now_ = Time::picoseconds(key.time);
    ++processed_;
    slot.sink->on_event(slot.payload);
    return true;
  }
  return false;
}

void Engine::sift_down(std::size_t hole, Key key) {
  const std::size_t size = heap_.size();
  while (true) {
    const std::size_t first = hole * 4 + 1;
    if (first >= size) break;
    std::size_t least = first;
    const std::size_t last = std::min(first + 4, size);
    for (std::size_t child = first + 1; child < last; ++child) {
      if (before(heap_[child], heap_[least])) least = child;
    }
    if (!before(heap_[least], key)) break;
    heap_[hole] = heap_[least];
    hole = least;
  }
  heap_[hole] = key;
}

Engine::Key Engine::pop() {
  const Key top = heap_.front();
  const Key last = heap_.back();
  heap_.pop_back();
  if (!heap_.empty()) sift_down(0, last);
  return top;
}

void Engine::release(std::uint32_t slot) {
  ++slots_[slot].generation;
  free_.push_back(slot);
}

void Engine::drop_cancelled() {
  std::erase_if(heap_, [this](const Key& key) {
    const std::uint32_t slot = slot_of(key);
    if (!slots_[slot].cancelled) return false;
    release(slot);
    return true;
  });
  cancelled_ = 0;
  // Heapify from the last parent up.
  for (std::size_t hole = heap_.size() / 4 + 1; hole-- > 0;) {
    if (hole < heap_.size()) sift_down(hole, heap_[hole]);
  }
}

}  // namespace warploom
