// SPDX-License-Identifier: Apache-2.0
// What a replay costs grows with the number of operations and of ranks, no faster.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <string>

#include "traces/captured_run.hpp"
#include "traces/classify.hpp"
#include "traces/link.hpp"

namespace warploom {
namespace {

// Kernels of 10 us, launched every 9 us by two threads in turn; every tenth is a collective of the world on a stream of
// its own, in a group whose ranks are listed.
Capture make_rank(std::int64_t rank, std::int64_t ranks, std::int64_t ops) {
  Capture capture;
  capture.file = "rank " + std::to_string(rank);
  capture.rank = rank;
  capture.streams = {{0, 0, "7"}, {0, 0, "24"}};
  capture.threads = {{1, 1, "main"}, {1, 2, "backward"}};
  auto& group = capture.groups.emplace_back();
  for (std::int64_t i = 0; i < ranks; ++i) group.ranks.push_back(i);
  group.size = ranks;
  const auto launch = capture.texts.add("cudaLaunchKernel");
  const auto gemm = capture.texts.add("gemm");
  const auto all_reduce = capture.texts.add("ncclDevKernel_AllReduce_Sum_f16_RING_LL");
  Nanoseconds done = 0;
  for (std::int64_t i = 0; i < ops; ++i) {
    const bool communicates = i % 10 == 9;
    HostCall call;
    call.start = 9000 * i;
    call.duration = 4000;
    call.correlation = static_cast<std::uint64_t>(i + 1);
    call.name = launch;
    call.kind = CallKind::launch;
    call.thread = i / 1000 % 2 == 0 ? 0 : 1;
    capture.calls.push_back(call);
    DeviceOp op;
    op.stream = communicates ? 1 : 0;
    op.name = communicates ? all_reduce : gemm;
    op.correlation = call.correlation;
    op.start = std::max(done + 1000, call.start + 6000);
    op.duration = 10'000;
    done = op.end();
    if (communicates) {
      op.collective = static_cast<std::uint32_t>(capture.collectives.size());
      capture.collectives.emplace_back().group = 0;
    }
    capture.device_ops.push_back(op);
  }
  link_launches(capture);
  classify(capture);
  return capture;
}

// Processor time an operation, the least of three runs: others on the machine do not count.
double cost(std::int64_t ranks, std::int64_t ops_a_rank) {
  double least = std::numeric_limits<double>::max();
  for (int run = 0; run < 3; ++run) {
    ReadTraces read;
    for (std::int64_t rank = 0; rank < ranks; ++rank) read.captures.push_back(make_rank(rank, ranks, ops_a_rank));
    const std::clock_t before = std::clock();
    const CapturedRun replay = understand(std::move(read));
    least = std::min(least, static_cast<double>(std::clock() - before) / static_cast<double>(ranks * ops_a_rank));
    EXPECT_EQ(replay.matching.matched, ranks > 1 ? ops_a_rank / 10 : 0);
  }
  return least;
}

// Caches and tables of pages leave some room below what a quadratic part would cost (4).
TEST(ReplayScaling, FourTimesTheOperationsCostFourTimesAsMuch) { EXPECT_LT(cost(1, 200'000), 1.5 * cost(1, 50'000)); }

TEST(ReplayScaling, FourTimesTheRanksCostFourTimesAsMuch) { EXPECT_LT(cost(128, 400), 2 * cost(32, 400)); }

}  // namespace
}  // namespace warploom
