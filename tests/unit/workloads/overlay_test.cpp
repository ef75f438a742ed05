// SPDX-License-Identifier: Apache-2.0
// A generated step laid on captures made of it: all of it matches; what is taken away, added or slowed down is found.
#include "workloads/overlay/overlay.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "hw_models/kernels/gemm.hpp"
#include "sim/core/errors.hpp"
#include "workloads/experiment.hpp"
#include "workloads/overlay/tokens.hpp"

namespace warploom {
namespace {

// Eight tensor ranks, one role, two micro-batches of a short sequence.
const RunResult& generated() {
  static const RunResult result =
      Experiment::load("llama3_8b_8_h100", {"training.sequence_length=1024", "training.global_batch=16"}).run();
  return result;
}

Nanoseconds nanoseconds(Time time) { return time.ps() / 1000; }

std::string name_of(const Program& program, RowId row) {
  return program.row_name[row] == none ? "?" : program.names[program.row_name[row]];
}

struct Changes {
  std::function<bool(RowId)> keeps = [](RowId) { return true; };
  std::function<Nanoseconds(RowId, Nanoseconds)> duration = [](RowId, Nanoseconds time) { return time; };
  Nanoseconds starts_at = 1'000'000;
};

// What a profiler would have seen of the model's own step on rank 0: kernels with their rows' names, products with the
// operator that holds their shapes.
CapturedRun captured(const Changes& changes = {}) {
  const Program& program = generated().program;
  const Timeline& timeline = generated().timeline;
  CapturedRun run;
  Capture capture;
  capture.file = "rank0.json";
  capture.rank = 0;
  capture.streams.resize(2);
  capture.threads.resize(1);
  std::vector<RowId> order;
  const GeneratedSide side = generated_side(program, timeline, 0, GeneratedPart::step);
  for (const auto& lane : side.lanes) order.insert(order.end(), lane.ids.begin(), lane.ids.end());
  for (const RowId row : order) {
    if (!changes.keeps(row)) continue;
    DeviceOp op;
    op.start = nanoseconds(timeline.begin[row]) + changes.starts_at;
    op.duration = changes.duration(row, nanoseconds(timeline.end[row]) - nanoseconds(timeline.begin[row]));
    op.name = capture.texts.add(name_of(program, row));
    const bool communicates = program.meeting[row] != none;
    if (communicates) {
      op.op_class = OpClass::communication;
      op.stream = 1;
      op.name = capture.texts.add(
          fmt::format("ncclDevKernel_{}", name(program.calls[program.meetings[program.meeting[row]].call].kind)));
    } else if (program.kernel[row] != none) {
      const Kernel& kernel = program.kernels[program.kernel[row]];
      op.op_class = class_of(kernel);
      if (kernel.family == "gemm") {
        const GemmShape shape = gemm_shape(kernel);
        HostOp host;
        host.name = capture.texts.add("aten::mm");
        host.shapes = capture.texts.add(fmt::format("[[{}, {}], [{}, {}]]", shape.m, shape.k, shape.k, shape.n));
        op.host_op = static_cast<std::uint32_t>(capture.host_ops.size());
        capture.host_ops.push_back(host);
      }
    }
    capture.device_ops.push_back(op);
  }
  run.matching.of_op.emplace_back(capture.device_ops.size(), nothing);
  run.captures.push_back(std::move(capture));
  return run;
}

Overlay laid(const CapturedRun& run, const OverlayOptions& options = {}) {
  return lay_over(run, generated().program, generated().timeline, "test", options);
}

TEST(Overlay, OfAStepOnItselfMatchesAllOfIt) {
  const Overlay overlay = laid(captured());
  ASSERT_EQ(overlay.ranks.size(), 1U);
  EXPECT_FALSE(overlay.is_forward_only);
  EXPECT_DOUBLE_EQ(overlay.trace_coverage(), 1);
  EXPECT_DOUBLE_EQ(overlay.model_coverage(), 1);
  EXPECT_TRUE(overlay.only_trace.empty());
  EXPECT_TRUE(overlay.only_model.empty());
  const auto& rank = overlay.ranks.front();
  EXPECT_EQ(rank.trace_all.count, rank.model_all.count);
  EXPECT_EQ(rank.trace_paired.time, rank.model_paired.time);
  for (const auto& sums : overlay.classes) {
    EXPECT_EQ(sums.trace, sums.model);
    if (sums.pairs == 0) continue;
    EXPECT_EQ(sums.ratio, (std::array<double, 3>{1, 1, 1}));
  }
  const auto& gemm = overlay.classes[static_cast<std::size_t>(OpClass::gemm)];
  EXPECT_GT(gemm.pairs, 0);
  EXPECT_EQ(gemm.same_shape, gemm.pairs);  // nothing else is recorded with shapes
  EXPECT_DOUBLE_EQ(overlay.trace_coverage_by_shape(),
                   static_cast<double>(gemm.trace) / static_cast<double>(rank.trace_all.time));
  EXPECT_EQ(overlay.largest.front().trace, overlay.largest.front().model_time);
}

TEST(Overlay, NamesWhatTheTraceLacks) {
  const Program& program = generated().program;
  std::int64_t gone = 0;
  Changes changes;
  changes.keeps = [&](RowId row) {
    const bool leaves = name_of(program, row) == "qkv" && program.layer[row] % 4 == 1;
    gone += leaves ? 1 : 0;
    return !leaves;
  };
  const Overlay overlay = laid(captured(changes));
  ASSERT_GT(gone, 0);
  ASSERT_EQ(overlay.only_model.size(), 1U);
  EXPECT_EQ(overlay.only_model.front().name, "qkv");
  EXPECT_EQ(overlay.only_model.front().sum.count, gone);
  EXPECT_TRUE(overlay.only_trace.empty());
  EXPECT_DOUBLE_EQ(overlay.trace_coverage(), 1);
}

TEST(Overlay, SaysWhenNoProductOfTheTraceIsOneOfTheModel) {
  CapturedRun run = captured();
  Capture& capture = run.captures.front();
  for (auto& host : capture.host_ops) host.shapes = capture.texts.add("[[17, 19], [19, 23]]");
  const Overlay overlay = laid(run);
  EXPECT_EQ(overlay.classes[static_cast<std::size_t>(OpClass::gemm)].pairs, 0);
  ASSERT_FALSE(overlay.notes.empty());
  EXPECT_NE(overlay.notes.back().find("another model"), std::string::npos);
  EXPECT_TRUE(laid(captured()).notes.size() < overlay.notes.size());
}

TEST(Overlay, NamesWhatTheModelLacks) {
  CapturedRun run = captured();
  Capture& capture = run.captures.front();
  DeviceOp fill;
  fill.kind = DeviceOpKind::fill;
  fill.op_class = OpClass::copy;
  fill.name = capture.texts.add("Memset (Device)");
  fill.duration = 1500;
  for (int i = 0; i < 7; ++i) {
    fill.start = capture.device_ops[static_cast<std::size_t>(i) * 10].start;
    capture.device_ops.push_back(fill);
  }
  run.matching.of_op.front().resize(capture.device_ops.size(), nothing);
  const Overlay overlay = laid(run);
  ASSERT_EQ(overlay.only_trace.size(), 1U);
  EXPECT_EQ(overlay.only_trace.front().name, "Memset (Device)");
  EXPECT_EQ(overlay.only_trace.front().op_class, OpClass::copy);
  EXPECT_EQ(overlay.only_trace.front().sum.count, 7);
  EXPECT_EQ(overlay.only_trace.front().sum.time, 7 * 1500);
  EXPECT_TRUE(overlay.only_model.empty());
}

// As Hugging Face and torchtitan run it: three products for queries, keys and values, two for gate and up.
TEST(Overlay, PutsSplitProjectionsTogether) {
  CapturedRun run = captured();
  Capture& capture = run.captures.front();
  std::vector<DeviceOp> ops;
  std::int64_t parts = 0;
  for (const auto& op : capture.device_ops) {
    const std::string kernel(capture.texts[op.name]);
    const std::int64_t count = kernel == "qkv" ? 3 : kernel == "mlp_first" ? 2 : 1;
    std::int64_t m = 0;
    std::int64_t k = 0;
    std::int64_t n = 0;
    if (count > 1) {
      const std::string shapes(capture.texts[capture.host_ops[op.host_op].shapes]);
      ASSERT_EQ(std::sscanf(shapes.c_str(), "[[%ld, %ld], [%*d, %ld]]", &m, &k, &n), 3);
    }
    for (std::int64_t part = 0; part < count; ++part) {
      DeviceOp one = op;
      one.duration = part == 0 ? op.duration - (count - 1) * (op.duration / count) : op.duration / count;
      if (part > 0) one.start = ops.back().end();
      if (count > 1) {
        HostOp host = capture.host_ops[op.host_op];
        // Queries are the half of it, keys and values a quarter each (here: of any sizes that sum up).
        const std::int64_t width = count == 2 ? n / 2 : part == 0 ? n - 2 * (n / 4) : n / 4;
        host.shapes = capture.texts.add(fmt::format("[[{}, {}], [{}, {}]]", m, k, k, width));
        one.host_op = static_cast<std::uint32_t>(capture.host_ops.size());
        capture.host_ops.push_back(host);
        ++parts;
      }
      ops.push_back(one);
    }
  }
  capture.device_ops = std::move(ops);
  run.matching.of_op.front().assign(capture.device_ops.size(), nothing);
  const Overlay overlay = laid(run);
  ASSERT_GT(parts, 0);
  EXPECT_TRUE(overlay.only_model.empty());
  EXPECT_TRUE(overlay.only_trace.empty());
  const auto& gemm = overlay.classes[static_cast<std::size_t>(OpClass::gemm)];
  EXPECT_EQ(gemm.trace, gemm.model);
  EXPECT_EQ(overlay.ranks.front().trace_all.count, static_cast<std::int64_t>(capture.device_ops.size()));
  EXPECT_EQ(overlay.ranks.front().trace_paired.count, overlay.ranks.front().trace_all.count);
}

TEST(Overlay, PutsTheOperationThatDiffersMostFirst) {
  const Program& program = generated().program;
  Changes changes;
  changes.duration = [&](RowId row, Nanoseconds time) {
    return name_of(program, row) == "mlp_first" ? 2 * time : time;
  };
  const Overlay overlay = laid(captured(changes));
  ASSERT_FALSE(overlay.groups.empty());
  EXPECT_EQ(overlay.groups.front().model, "mlp_first");
  EXPECT_EQ(overlay.groups.front().trace, 2 * overlay.groups.front().model_time);
  ASSERT_EQ(overlay.largest.size(), 20U);
  for (const auto& pair : overlay.largest) EXPECT_EQ(pair.model, "mlp_first");
  const auto& gemm = overlay.classes[static_cast<std::size_t>(OpClass::gemm)];
  EXPECT_EQ(gemm.model - gemm.trace, overlay.groups.front().difference());
}

TEST(Overlay, OfAForwardPassIsLaidOnTheForwardPass) {
  const Program& program = generated().program;
  Changes changes;
  changes.keeps = [&](RowId row) { return program.phase[row] == Phase::forward; };
  const Overlay overlay = laid(captured(changes));
  EXPECT_TRUE(overlay.is_forward_only);
  EXPECT_FALSE(overlay.is_one_pass);
  EXPECT_DOUBLE_EQ(overlay.trace_coverage(), 1);
  EXPECT_DOUBLE_EQ(overlay.model_coverage(), 1);
}

TEST(Overlay, OfOneForwardPassIsLaidOnTheFirstMicroBatch) {
  const Program& program = generated().program;
  Changes changes;
  changes.keeps = [&](RowId row) { return program.phase[row] == Phase::forward && program.micro_batch[row] <= 0; };
  const Overlay overlay = laid(captured(changes));
  EXPECT_TRUE(overlay.is_one_pass);
  EXPECT_DOUBLE_EQ(overlay.trace_coverage(), 1);
  EXPECT_DOUBLE_EQ(overlay.model_coverage(), 1);
  const auto& rank = overlay.ranks.front();
  EXPECT_EQ(rank.model.unions[0], rank.trace.unions[0]);
  EXPECT_LT(2 * rank.model.window.length(), nanoseconds(generated().report.step_time));
}

TEST(Overlay, ComparesTransfersAndSaysHowLongWasWaited) {
  CapturedRun run = captured();
  Capture& capture = run.captures.front();
  constexpr Nanoseconds waited = 1'000'000;
  std::int64_t members = 0;
  for (std::size_t i = 0; i < capture.device_ops.size(); ++i) {
    auto& op = capture.device_ops[i];
    if (op.op_class != OpClass::communication) continue;
    MatchedCollective collective;
    collective.members = {{0, static_cast<std::uint32_t>(i)}};
    collective.transfer = op.duration;
    op.start -= waited;
    op.duration += waited;
    run.matching.of_op.front()[i] = static_cast<std::uint32_t>(run.matching.collectives.size());
    run.matching.collectives.push_back(collective);
    ++members;
  }
  ASSERT_GT(members, 0);
  const Overlay overlay = laid(run);
  const auto& sums = overlay.classes[static_cast<std::size_t>(OpClass::communication)];
  EXPECT_EQ(overlay.waiting, members * waited);
  EXPECT_EQ(sums.pairs, members);
  EXPECT_EQ(sums.trace, sums.model);
}

TEST(Overlay, TakesTheStepThatIsAskedFor) {
  CapturedRun run = captured();
  Capture& capture = run.captures.front();
  const Nanoseconds middle = capture.device_ops[capture.device_ops.size() / 2].start;
  Annotation step;
  step.thread = 0;
  step.name = capture.texts.add("ProfilerStep#3");
  step.duration = middle;
  capture.annotations.push_back(step);
  std::int64_t before = 0;
  for (const auto& op : capture.device_ops) before += op.start < middle ? 1 : 0;
  EXPECT_EQ(laid(run, {.step = 3}).ranks.front().trace_all.count, before);
  EXPECT_THROW(laid(run, {.step = 4}), UserError);
}

// What an earlier step launched still runs when a step begins.
TEST(Overlay, LeavesOutWhatRanBeforeTheFirstOperationOfTheStep) {
  CapturedRun run = captured();
  Capture& capture = run.captures.front();
  const std::size_t left = capture.device_ops.size() / 3;
  std::nth_element(capture.device_ops.begin(), capture.device_ops.begin() + static_cast<std::ptrdiff_t>(left),
                   capture.device_ops.end(), [](const DeviceOp& a, const DeviceOp& b) { return a.start < b.start; });
  HostCall call;
  call.start = 10;
  capture.calls.push_back(call);
  capture.device_ops[left].launch = 0;
  Annotation step;
  step.thread = 0;
  step.name = capture.texts.add("ProfilerStep#3");
  step.duration = Nanoseconds{1} << 60;
  capture.annotations.push_back(step);
  std::int64_t after = 0;
  for (const auto& op : capture.device_ops) after += op.start >= capture.device_ops[left].start ? 1 : 0;
  EXPECT_EQ(laid(run).ranks.front().trace_all.count, after);
}

TEST(Overlay, RefusesTracesWithoutWork) {
  CapturedRun run;
  run.captures.emplace_back();
  run.matching.of_op.emplace_back();
  EXPECT_THROW(laid(run), UserError);
}

std::optional<std::string> megatron() {
  const char* data = std::getenv("WARPLOOM_DATA");
  if (data == nullptr) return std::nullopt;
  const auto folder = std::filesystem::path(data) / "traces/astra_history/megatron-tp8";
  return std::filesystem::exists(folder) ? std::optional(folder.string()) : std::nullopt;
}

// 40 layers of 6 products and the head on each of 8 ranks; an all-reduce after attention and MLP, after the embedding
// and two of the loss. The bias after the QKV product is a kernel of its own that the model does not have.
TEST(Overlay, OfMegatronOn8A100MatchesEveryProductAndCollective) {
  const auto folder = megatron();
  if (!folder) GTEST_SKIP() << "set WARPLOOM_DATA for real traces";
  const std::vector<std::string> paths = {*folder};
  const CapturedRun run = understand(paths);
  const RunResult model = Experiment::load("megatron_8b_8_a100").run();
  const Overlay overlay = lay_over(run, model.program, model.timeline, "megatron");
  EXPECT_TRUE(overlay.is_forward_only);
  ASSERT_EQ(overlay.ranks.size(), 8U);
  const auto& gemm = overlay.classes[static_cast<std::size_t>(OpClass::gemm)];
  EXPECT_EQ(gemm.pairs, 8 * (40 * 6 + 1));
  EXPECT_EQ(gemm.same_shape, gemm.pairs);
  EXPECT_EQ(gemm.only_trace.count + gemm.only_model.count, 0);
  EXPECT_EQ(overlay.classes[static_cast<std::size_t>(OpClass::norm)].pairs, 8 * (40 * 2 + 1));
  EXPECT_EQ(overlay.classes[static_cast<std::size_t>(OpClass::communication)].pairs, 8 * (40 * 2 + 3));
  EXPECT_TRUE(overlay.only_model.empty());
  EXPECT_GT(overlay.trace_coverage(), 0.95);
  ASSERT_FALSE(overlay.only_trace.empty());
  EXPECT_EQ(overlay.only_trace.front().operation, "aten::add");
  EXPECT_EQ(overlay.only_trace.front().sum.count, 8 * 40);
}

}  // namespace
}  // namespace warploom
