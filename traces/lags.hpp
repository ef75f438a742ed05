// SPDX-License-Identifier: Apache-2.0
// The two small times that no event carries, measured from the capture itself: from a launch call to the operation on
// an idle stream, and from one queued operation to the next.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "traces/capture.hpp"

namespace warploom {

struct OpEdge;

// Launch: the median, by kind of call (its name) and of operation, over operations whose stream and whose events were
// done before the call; where a host runs far ahead all the time there are none, and 6 us stand, the default of a CUDA
// device. A copy on an idle stream keeps its own latency, which its call, staging the data and often waiting for it,
// has in it. A call that took long by itself (a module was loaded, the queue was full) launched at its end.
//
// Queue: the mean, by the kinds of the two operations, over operations that were launched long before the one before
// them ended; gaps of more than six times the median are waits, not gaps.
//
// Event: the median, by the kind of the operation, over those that waited for an event longest.
class LagModel {
 public:
  LagModel() = default;
  LagModel(const Capture& capture, std::span<const std::uint32_t> before, std::span<const OpEdge> edges_by_to);

  Nanoseconds launch(const Capture& capture, std::uint32_t op) const;
  Nanoseconds queue(const DeviceOp& before, const DeviceOp& op) const {
    return queue_[static_cast<std::size_t>(before.kind)][static_cast<std::size_t>(op.kind)];
  }
  // What a call took beyond what such calls usually take.
  Nanoseconds excess(const HostCall& call) const;
  // From the end of what an event waited for.
  Nanoseconds event(const DeviceOp& op) const { return event_[static_cast<std::size_t>(op.kind)]; }
  bool launch_is_default() const { return launch_is_default_; }
  Nanoseconds typical_queue() const { return queue_all_; }

 private:
  static constexpr std::size_t kinds = 5;
  void measure_calls(const Capture& capture);
  void measure_launches(const Capture& capture, std::span<const std::uint32_t> before,
                        std::span<const OpEdge> edges_by_to);
  void measure_queues(const Capture& capture, std::span<const std::uint32_t> before,
                      std::span<const OpEdge> edges_by_to);
  void measure_events(const Capture& capture, std::span<const std::uint32_t> before,
                      std::span<const OpEdge> edges_by_to);

  std::array<Nanoseconds, kinds> launch_of_kind_{6000, 6000, 6000, 6000, 6000};
  std::vector<Nanoseconds> launch_of_call_;                        // by (name of the call, kind of operation); -1: none
  std::vector<std::pair<std::uint32_t, Nanoseconds>> own_launch_;  // by operation
  std::vector<Nanoseconds> usual_call_;                            // median duration by name; -1: none
  std::array<std::array<Nanoseconds, kinds>, kinds> queue_{};
  Nanoseconds queue_all_ = 1000;
  std::array<Nanoseconds, kinds> event_{1000, 1000, 1000, 1000, 1000};
  bool launch_is_default_ = true;
};

}  // namespace warploom
