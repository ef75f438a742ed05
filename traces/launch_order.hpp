// SPDX-License-Identifier: Apache-2.0
// In which order hosts gave work to streams.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/core/index_lists.hpp"
#include "traces/capture.hpp"
#include "traces/key_index.hpp"

namespace warploom {

class LaunchOrder {
 public:
  // The capture, a joined one, outlives it.
  explicit LaunchOrder(const Capture& capture);

  std::span<const std::uint32_t> calls() const { return calls_; }  // of all threads, by start
  std::span<const std::uint32_t> ops_of_call(std::uint32_t call) const { return of_call_[call]; }
  // The operation that `stream` was given last before `time`, or first at or after it; `nothing`: none.
  std::uint32_t last_before(std::uint32_t stream, Nanoseconds time) const;
  std::uint32_t first_after(std::uint32_t stream, Nanoseconds time) const;
  // Of what `stream` was given up to `given_before`, what ended last of all that ended by `ended_by`; looks back over
  // `farthest` operations.
  std::uint32_t last_ended(std::uint32_t stream, Nanoseconds given_before, Nanoseconds ended_by,
                           std::size_t farthest) const;
  std::optional<Nanoseconds> start_of_call(std::uint64_t correlation) const;
  std::size_t stream_count() const { return given_.size(); }

 private:
  void sort_given();
  // What no call launched was given, for all that is known, when it began.
  Nanoseconds given_at(std::uint32_t op) const {
    const auto& what = capture_.device_ops[op];
    return what.launch != nothing ? capture_.calls[what.launch].start : what.start;
  }
  const DeviceOp& op(std::uint32_t index) const { return capture_.device_ops[index]; }

  const Capture& capture_;
  std::vector<std::uint32_t> calls_;
  IndexLists of_call_;  // operations
  IndexLists given_;    // by stream: operations
  KeyIndex call_of_;    // by correlation; empty where nothing asks for it
};

}  // namespace warploom
