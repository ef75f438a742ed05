// SPDX-License-Identifier: Apache-2.0
// A host that waits for a place in its stream's queue goes on sooner where the device is faster.
#include "traces/launch_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/support/hand_capture.hpp"

namespace warploom {
namespace {

using testing::HandCapture;
using testing::run_of_hand;
using testing::us;

constexpr std::size_t kernels = 1400;
constexpr std::size_t depth = 1020;

// Kernels that the host launches faster than they run, until `depth` of them wait; then one on another stream, which
// only waits for the host.
HandCapture full_queue(Nanoseconds kernel) {
  HandCapture hand;
  std::vector<Nanoseconds> starts;
  Nanoseconds host = 0;
  Nanoseconds free = 0;
  for (std::size_t i = 0; i < kernels; ++i) {
    const Nanoseconds at = host;
    host += 2 * us;
    if (i >= depth) host = std::max(host, starts[i - depth]);
    const Nanoseconds start = std::max(host + 4 * us, free);
    starts.push_back(start);
    free = start + kernel + 1 * us;
    hand.op("kernel", "7", start, kernel, hand.call("cudaLaunchKernel", CallKind::launch, at, host - at));
    host += 1 * us;
  }
  host += 100 * us;
  hand.op("last", "8", host + 6 * us, 5 * us, hand.call("cudaLaunchKernel", CallKind::launch, host, 2 * us));
  return hand;
}

Nanoseconds start_of_last(const Capture& capture) {
  for (const auto& op : capture.device_ops) {
    if (capture.texts[op.name] == "last") return op.start;
  }
  return 0;
}

TEST(LaunchQueue, HostsThatWaitForAPlaceAreSpedUpWithTheDevice) {
  auto slow = full_queue(60 * us);
  const CapturedRun run = run_of_hand(slow);
  EXPECT_GT(run.graphs[0].counts.inferred, 300);
  EXPECT_LE(run.self.ranks[0].start_error_p95, 1 * us);
  auto quick = full_queue(30 * us);
  const Capture expected = quick.take();
  Retiming twice;
  twice.durations.emplace_back();
  for (const auto& op : run.captures[0].device_ops) {
    twice.durations[0].push_back(op.duration == 60 * us ? 30 * us : op.duration);
  }
  const CapturedProgram program = make_program(run.captures, run.graphs, run.matching, twice);
  const Timeline timeline = play_as_captured(program.program);
  for (std::size_t i = 0; i < run.captures[0].device_ops.size(); ++i) {
    if (run.captures[0].texts[run.captures[0].device_ops[i].name] != "last") continue;
    const double start = timeline.ready[program.row_of_op[0][i]].seconds() * 1e9;
    EXPECT_NEAR(start / static_cast<double>(start_of_last(expected)), 1, 0.02);
    EXPECT_LT(start, 0.6 * static_cast<double>(start_of_last(run.captures[0])));
  }
}

TEST(LaunchQueue, LongCallsWithShortQueuesAreNoStalls) {
  HandCapture hand;
  for (int i = 0; i < 1400; ++i) {
    hand.op("kernel", "7", (100 * i + 40) * us, 20 * us,
            hand.call("cudaLaunchKernel", CallKind::launch, 100 * i * us, 30 * us));
  }
  const Capture capture = hand.take();
  const CaptureGraph graph = find_dependencies(capture);
  EXPECT_TRUE(find_full_queues(capture, graph.before).empty());
}

}  // namespace
}  // namespace warploom
