// SPDX-License-Identifier: Apache-2.0
// Launches of a stream in their order beside its operations in theirs.
#include "traces/launch_queue.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace warploom {

namespace {

constexpr Nanoseconds least_stall = 20'000;
constexpr std::size_t fewest_queued = 1000;
constexpr std::size_t most_queued = 1024;
constexpr std::size_t fewest_stalls = 16;  // of a stream, below which they may be chance

struct Launched {
  Nanoseconds at = 0;  // of its call
  std::uint32_t op = 0;
};

// Waits of one stream's calls: (call, operation).
std::vector<std::pair<std::uint32_t, std::uint32_t>> stalls_of(const Capture& capture,
                                                               std::span<const std::uint32_t> before,
                                                               const std::vector<Launched>& launched) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> stalls;
  std::size_t others = 0;  // long calls that a full queue does not explain
  std::size_t begun = 0;   // operations that had begun when the call at hand returned
  for (std::size_t n = 0; n < launched.size(); ++n) {
    const auto& op = capture.device_ops[launched[n].op];
    const auto& call = capture.calls[op.launch];
    if (call.kind != CallKind::launch || call.duration < least_stall) continue;
    while (begun < n && capture.device_ops[launched[begun].op].start <= call.end()) ++begun;
    const std::size_t queued = n - begun + 1;  // itself among them
    const std::uint32_t waited_for = begun == 0 ? nothing : before[launched[begun - 1].op];
    const bool is_full = queued >= fewest_queued && queued <= most_queued && waited_for != nothing &&
                         capture.device_ops[waited_for].end() > call.start &&
                         capture.device_ops[waited_for].end() <= call.end();
    if (is_full) {
      stalls.emplace_back(op.launch, waited_for);
    } else {
      ++others;
    }
  }
  if (stalls.size() < fewest_stalls || stalls.size() < others) stalls.clear();
  return stalls;
}

}  // namespace

std::unordered_map<std::uint32_t, std::uint32_t> find_full_queues(const Capture& capture,
                                                                  std::span<const std::uint32_t> before) {
  std::vector<std::vector<Launched>> by_stream(capture.streams.size());
  for (std::uint32_t i = 0; i < capture.device_ops.size(); ++i) {
    const auto& op = capture.device_ops[i];
    if (op.launch != nothing) by_stream[op.stream].push_back({capture.calls[op.launch].start, i});
  }
  std::unordered_map<std::uint32_t, std::uint32_t> found;
  for (auto& launched : by_stream) {
    if (launched.size() <= fewest_queued) continue;
    const auto earlier = [](const Launched& a, const Launched& b) {
      return std::pair(a.at, a.op) < std::pair(b.at, b.op);
    };
    if (!std::is_sorted(launched.begin(), launched.end(), earlier))
      std::sort(launched.begin(), launched.end(), earlier);
    for (const auto& [call, op] : stalls_of(capture, before, launched)) found.emplace(call, op);
  }
  return found;
}

}  // namespace warploom
