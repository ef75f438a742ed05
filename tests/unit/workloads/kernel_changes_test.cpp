// SPDX-License-Identifier: Apache-2.0
// Kernels before and after, summed by name.
#include "workloads/replay/kernel_changes.hpp"

#include <gtest/gtest.h>

#include "traces/classify.hpp"
#include "traces/link.hpp"

namespace warploom {
namespace {

constexpr Nanoseconds us = 1000;

// Kernels on one stream, launched long before they run.
Capture capture_of(std::int64_t rank, std::initializer_list<std::pair<const char*, Nanoseconds>> kernels) {
  Capture capture;
  capture.file = "rank" + std::to_string(rank);
  capture.rank = rank;
  capture.threads = {{1, 1, "main"}};
  capture.streams = {{0, 0, "7"}};
  Nanoseconds at = 1000 * us;
  std::uint64_t correlation = 0;
  for (const auto& [name, duration] : kernels) {
    HostCall call;
    call.start = static_cast<Nanoseconds>(++correlation) * us;
    call.duration = us / 2;
    call.correlation = correlation;
    call.kind = CallKind::launch;
    call.name = capture.texts.add("cudaLaunchKernel");
    capture.calls.push_back(call);
    DeviceOp op;
    op.start = at;
    op.duration = duration;
    op.correlation = correlation;
    op.name = capture.texts.add(name);
    op.stream = 0;
    capture.device_ops.push_back(op);
    at = op.end() + us;
  }
  link_launches(capture);
  classify(capture);
  return capture;
}

CapturedRun run_of(std::vector<Capture> captures) {
  ReadTraces read;
  read.captures = std::move(captures);
  return understand(std::move(read));
}

TEST(KernelChanges, SumTheSameNameOverCapturesTheLongestFirst) {
  std::vector<Capture> captures;
  captures.push_back(capture_of(0, {{"gemm", 50 * us}, {"copy_kernel", 5 * us}, {"gemm", 50 * us}}));
  captures.push_back(capture_of(1, {{"norm", 70 * us}, {"gemm", 40 * us}}));
  const CapturedRun run = run_of(std::move(captures));
  Retiming half;
  for (const auto& capture : run.captures) {
    auto& durations = half.durations.emplace_back();
    for (const auto& op : capture.device_ops) durations.push_back(op.duration / 2);
  }
  const auto program = make_program(run.captures, run.graphs, run.matching, half);
  const auto changes = kernel_changes(run, program, play_as_captured(program.program));
  ASSERT_EQ(changes.size(), 3U);
  EXPECT_EQ(changes[0].name, "gemm");
  EXPECT_EQ(changes[0].count, 3);
  EXPECT_EQ(changes[0].measured, 140 * us);
  EXPECT_EQ(changes[0].predicted, 70 * us);
  EXPECT_EQ(changes[1].name, "norm");
  EXPECT_EQ(changes[2].predicted, 2500);
}

TEST(KernelChanges, CommunicationCountsWithoutWaiting) {
  // Rank 1 comes 30 us late: rank 0's kernel waits so long.
  auto early = capture_of(0, {{"gemm", 10 * us}, {"ncclDevKernel_AllReduce_Sum_f16_RING_LL", 50 * us}});
  auto late = capture_of(1, {{"gemm", 40 * us}, {"ncclDevKernel_AllReduce_Sum_f16_RING_LL", 20 * us}});
  std::vector<Capture> captures;
  captures.push_back(std::move(early));
  captures.push_back(std::move(late));
  const CapturedRun run = run_of(std::move(captures));
  ASSERT_EQ(run.matching.matched, 1);
  const auto changes = kernel_changes(run, run.captured, run.timeline);
  for (const auto& change : changes) {
    if (change.op_class != OpClass::communication) continue;
    EXPECT_EQ(change.count, 2);
    EXPECT_EQ(change.measured, 40 * us);
    EXPECT_EQ(change.predicted, 40 * us);
    return;
  }
  FAIL() << "no communication among the kernels";
}

}  // namespace
}  // namespace warploom
