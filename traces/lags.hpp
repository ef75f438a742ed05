// SPDX-License-Identifier: Apache-2.0
// The two small times that no event carries, measured from the capture itself: from a launch call to the operation on
// an idle stream, and from one queued operation to the next.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "traces/capture.hpp"

namespace warploom {

struct OpEdge;

// Launch: the lower quartile, by kind of call (its name) and of operation, over operations whose stream and whose
// events were done before the call. Where a host runs far ahead all the time there are none, and the default of a CUDA
// device stands (`is_default`): 6 us. Queue: the mean, by the kinds of the two operations, over operations that were
// launched long before the one before them ended; gaps of more than six times the median are waits, not gaps. Event:
// the lower quartile, over operations that waited for an event longest.
class LagModel {
 public:
  LagModel() = default;
  LagModel(const Capture& capture, std::span<const std::uint32_t> before, std::span<const OpEdge> edges_by_to);

  Nanoseconds launch(const Capture& capture, const DeviceOp& op) const;
  Nanoseconds queue(const DeviceOp& before, const DeviceOp& op) const;
  Nanoseconds event() const { return event_; }  // from the end of what an event waited for
  bool launch_is_default() const { return launch_is_default_; }
  Nanoseconds typical_launch() const { return launch_of_kind_[0]; }
  Nanoseconds typical_queue() const { return queue_all_; }

 private:
  static constexpr std::size_t kinds = 5;
  void measure_launches(const Capture& capture, std::span<const Nanoseconds> free_at);
  void measure_queues(const Capture& capture, std::span<const std::uint32_t> before,
                      std::span<const Nanoseconds> events_at);
  void measure_events(const Capture& capture, std::span<const std::uint32_t> before,
                      std::span<const Nanoseconds> events_at);

  std::array<Nanoseconds, kinds> launch_of_kind_{6000, 6000, 6000, 6000, 6000};
  std::unordered_map<std::uint64_t, Nanoseconds> launch_of_call_;  // by (name of the call, kind of operation)
  std::array<std::array<Nanoseconds, kinds>, kinds> queue_{};
  Nanoseconds queue_all_ = 1000;
  Nanoseconds event_ = 1000;
  bool launch_is_default_ = true;
};

}  // namespace warploom
