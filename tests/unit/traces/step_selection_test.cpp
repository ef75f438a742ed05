// SPDX-License-Identifier: Apache-2.0
// One step of a capture that holds several.
#include "traces/step_selection.hpp"

#include <gtest/gtest.h>

#include "sim/core/errors.hpp"
#include "traces/captured_run.hpp"
#include "traces/classify.hpp"
#include "traces/link.hpp"

namespace warploom {
namespace {

constexpr Nanoseconds us = 1000;

// Three steps of 100 us, each with an operator, two launches in it, and their kernels 30 us later; one kernel a step
// that nobody launched.
Capture three_steps() {
  Capture capture;
  capture.file = "rank0";
  capture.rank = 0;
  capture.threads = {{1, 1, "main"}};
  capture.streams = {{0, 0, "7"}};
  std::uint64_t correlation = 0;
  for (int step = 0; step < 3; ++step) {
    const Nanoseconds begin = 100 * step * us;
    capture.annotations.push_back({begin, 100 * us, capture.texts.add("ProfilerStep#" + std::to_string(step + 5)), 0});
    HostOp linear;
    linear.start = begin + 5 * us;
    linear.duration = 40 * us;
    linear.name = capture.texts.add("aten::linear");
    capture.host_ops.push_back(linear);
    for (int i = 0; i < 2; ++i) {
      HostCall call;
      call.start = begin + (10 + 10 * i) * us;
      call.duration = 5 * us;
      call.correlation = ++correlation;
      call.kind = CallKind::launch;
      call.name = capture.texts.add("cudaLaunchKernel");
      call.host_op = static_cast<std::uint32_t>(capture.host_ops.size() - 1);
      capture.calls.push_back(call);
      DeviceOp op;
      op.start = call.start + 30 * us;
      op.duration = 8 * us;
      op.correlation = correlation;
      op.name = capture.texts.add("gemm");
      op.stream = 0;
      capture.device_ops.push_back(op);
    }
    DeviceOp orphan;
    orphan.start = begin + 48 * us;
    orphan.duration = us;
    orphan.name = capture.texts.add("orphan");
    orphan.stream = 0;
    capture.device_ops.push_back(orphan);
  }
  link_launches(capture);
  classify(capture);
  capture.device_edges = {{0, 1, false}};
  capture.details.push_back({3, nothing, nothing, nothing, nothing, nothing});  // step 6's first kernel
  return capture;
}

TEST(StepSelection, KeepsWhatTheStepLaunchedAndWhatRanMeanwhile) {
  std::vector<Capture> captures;
  captures.push_back(three_steps());
  keep_step(captures, 6);
  const Capture& kept = captures[0];
  ASSERT_EQ(kept.device_ops.size(), 3U);
  EXPECT_EQ(kept.calls.size(), 2U);
  EXPECT_EQ(kept.host_ops.size(), 1U);
  EXPECT_EQ(kept.annotations.size(), 1U);
  EXPECT_TRUE(kept.device_edges.empty());
  for (const auto& op : kept.device_ops) {
    EXPECT_GE(op.start, 100 * us);
    EXPECT_LT(op.start, 200 * us);
    if (op.launch == nothing) continue;
    EXPECT_EQ(kept.calls[op.launch].correlation, op.correlation);
  }
  for (const auto& call : kept.calls) EXPECT_EQ(call.host_op, 0U);
  ASSERT_EQ(kept.details.size(), 1U);
  EXPECT_EQ(kept.texts[kept.device_ops[kept.details[0].op].name], "gemm");
}

TEST(StepSelection, WhatIsKeptReplays) {
  ReadTraces read;
  read.captures.push_back(three_steps());
  keep_step(read.captures, 7);
  const CapturedRun run = understand(std::move(read));
  EXPECT_EQ(run.self.error, 0);
  EXPECT_EQ(run.self.ranks[0].measured.length(), 18 * us);
}

TEST(StepSelection, AStepThatIsNotThereNamesThoseThatAre) {
  std::vector<Capture> captures;
  captures.push_back(three_steps());
  try {
    keep_step(captures, 9);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(error.message().find("rank0: no step 9"), std::string::npos);
    EXPECT_EQ(error.hint(), "its steps: 5, 6, 7");
  }
}

}  // namespace
}  // namespace warploom
