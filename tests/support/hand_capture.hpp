// SPDX-License-Identifier: Apache-2.0
// Captures made by hand, where every time is known.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "traces/captured_run.hpp"
#include "traces/classify.hpp"
#include "traces/link.hpp"

namespace warploom::testing {

inline constexpr Nanoseconds us = 1000;

// A rank with one thread and as many streams as are named.
class HandCapture {
 public:
  explicit HandCapture(std::int64_t rank = 0) {
    capture.file = "rank" + std::to_string(rank);
    capture.format = "hand";
    capture.rank = rank;
    capture.threads = {{1, 1, "main"}};
  }
  std::uint32_t stream(const std::string& name) {
    for (std::uint32_t i = 0; i < capture.streams.size(); ++i) {
      if (capture.streams[i].name == name) return i;
    }
    capture.streams.push_back({0, 0, name});
    return static_cast<std::uint32_t>(capture.streams.size() - 1);
  }
  std::uint64_t call(const std::string& name, CallKind kind, Nanoseconds start, Nanoseconds duration) {
    HostCall made;
    made.start = start;
    made.duration = duration;
    made.name = capture.texts.add(name);
    made.kind = kind;
    made.correlation = ++last_;
    capture.calls.push_back(made);
    return last_;
  }
  void op(const std::string& name, const std::string& on, Nanoseconds start, Nanoseconds duration,
          std::uint64_t correlation) {
    DeviceOp made;
    made.start = start;
    made.duration = duration;
    made.name = capture.texts.add(name);
    made.stream = stream(on);
    made.correlation = correlation;
    capture.device_ops.push_back(made);
  }
  // A kernel and its launch `delay` before.
  void kernel(const std::string& name, const std::string& on, Nanoseconds start, Nanoseconds duration,
              Nanoseconds delay) {
    op(name, on, start, duration, call("cudaLaunchKernel", CallKind::launch, start - delay, 4 * us));
  }
  void all_reduce(Nanoseconds start, Nanoseconds duration, Nanoseconds delay = 6 * us) {
    kernel("ncclDevKernel_AllReduce_Sum_f16_RING_LL", "24", start, duration, delay);
  }
  // Of the operation that was made last.
  CollectiveRecord& record(const std::string& name, std::int64_t elements, const std::string& type,
                           const std::vector<std::int64_t>& ranks) {
    ProcessGroup group{"0", "default_pg", static_cast<std::int64_t>(ranks.size()), ranks};
    CollectiveRecord made;
    made.name = capture.texts.add(name);
    made.type = capture.texts.add(type);
    made.in_elements = made.out_elements = elements;
    made.group = static_cast<std::uint32_t>(capture.groups.size());
    capture.groups.push_back(std::move(group));
    capture.device_ops.back().collective = static_cast<std::uint32_t>(capture.collectives.size());
    return capture.collectives.emplace_back(made);
  }
  Capture take() {
    link_launches(capture);
    classify(capture);
    return std::move(capture);
  }
  Capture capture;

 private:
  std::uint64_t last_ = 0;
};

inline CapturedRun run_of(std::vector<Capture> captures) {
  CapturedRun run;
  run.captures = std::move(captures);
  for (const auto& capture : run.captures) run.graphs.push_back(find_dependencies(capture));
  run.matching = match_collectives(run.captures);
  run.captured = make_program(run.captures, run.graphs, run.matching);
  run.timeline = play_as_captured(run.captured.program);
  run.self = compare_with_capture(run.captures, run.captured, run.timeline);
  return run;
}
template <class... Captures>
CapturedRun run_of_hand(Captures&&... hand) {
  std::vector<Capture> captures;
  (captures.push_back(hand.take()), ...);
  return run_of(std::move(captures));
}

}  // namespace warploom::testing
