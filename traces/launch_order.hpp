// SPDX-License-Identifier: Apache-2.0
// In which order hosts gave work to streams.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "traces/capture.hpp"

namespace warploom {

class LaunchOrder {
 public:
  explicit LaunchOrder(const Capture& capture);

  std::span<const std::uint32_t> calls() const { return calls_; }  // of all threads, by start
  std::span<const std::uint32_t> ops_of_call(std::uint32_t call) const {
    return std::span(ops_).subspan(ops_begin_[call], ops_begin_[call + 1] - ops_begin_[call]);
  }
  // The operation that `stream` was given last before `time`, or first at or after it; `nothing`: none.
  std::uint32_t last_before(std::uint32_t stream, Nanoseconds time) const;
  // Of what `stream` was given up to `given_before`, what ended last of all that ended by `ended_by`; looks back over
  // `farthest` operations.
  std::uint32_t last_ended(std::uint32_t stream, Nanoseconds given_before, Nanoseconds ended_by,
                           std::span<const DeviceOp> ops, std::size_t farthest) const;
  std::uint32_t first_after(std::uint32_t stream, Nanoseconds time) const;
  std::optional<Nanoseconds> start_of_call(std::uint64_t correlation) const;
  std::size_t stream_count() const { return by_stream_.size(); }

 private:
  struct Given {
    Nanoseconds at = 0;
    std::uint32_t op = 0;
  };
  std::vector<std::uint32_t> calls_;
  std::vector<std::uint32_t> ops_begin_;  // CSR by call
  std::vector<std::uint32_t> ops_;
  std::vector<std::vector<Given>> by_stream_;
  std::unordered_map<std::uint64_t, Nanoseconds> start_of_;
};

}  // namespace warploom
