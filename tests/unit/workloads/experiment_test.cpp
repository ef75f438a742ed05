// SPDX-License-Identifier: Apache-2.0
// Experiments from configuration to report: what is read, refused, assumed, and what the network's arithmetic moves.
#include "workloads/experiment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "sim/core/errors.hpp"

namespace warploom {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Overrides = std::vector<std::string>;

// The 8B model with short sequences: a run of milliseconds.
Experiment small(Overrides more = {}) {
  Overrides overrides = {"training.sequence_length=1024", "training.global_batch=16"};
  overrides.insert(overrides.end(), more.begin(), more.end());
  return Experiment::load("llama3_8b_8_h100", overrides);
}

std::string refusal(const Overrides& overrides) {
  try {
    small(overrides).run();
  } catch (const UserError& error) {
    return error.what();
  }
  return "ran";
}

TEST(Experiment, ReportsWhatItIs) {
  const auto result = small({"seed=7"}).run();
  EXPECT_EQ(result.report.name, "Llama 3 8B, 8 H100");
  EXPECT_EQ(result.report.model, "llama3_8b");
  EXPECT_EQ(result.report.machine, "DGX H100 SuperPOD");
  EXPECT_EQ(result.report.seed, 7U);
  EXPECT_EQ(result.report.devices, 8);
  EXPECT_EQ(result.report.config_hash.size(), 16U);
  EXPECT_EQ(result.report.simulator.operations, result.program.size());
  EXPECT_GT(result.report.simulator.wall_s, 0);
}

TEST(Experiment, IsTheSameEveryTimeAndAnotherWithAnotherValue) {
  const Experiment one = small();
  EXPECT_EQ(one.run().report.step_time, one.run().report.step_time);
  EXPECT_EQ(one.run().report.config_hash, small().run().report.config_hash);
  EXPECT_NE(one.run().report.config_hash, small({"training.recompute=full"}).run().report.config_hash);
}

TEST(Experiment, ListsWhatItTakesForGranted) {
  const auto assumptions =
      small({"assumptions=[the moon is round]", "stragglers=[{device: 3, slow_down: 1.5}]"}).run().report.assumptions;
  EXPECT_THAT(assumptions, Contains("the moon is round"));
  EXPECT_THAT(assumptions, Contains(HasSubstr("rope_theta")));  // a key of the model file that costs nothing
  EXPECT_THAT(assumptions, Contains(HasSubstr("device 3: every kernel takes 1.5 times as long")));
}

TEST(Experiment, CountsTheBatchInSequencesOrTokens) {
  EXPECT_EQ(small().job().training.global_batch, 16);
  EXPECT_EQ(small({"training.global_batch=~", "training.global_tokens=32768"}).job().training.global_batch, 32);
  EXPECT_THAT(refusal({"training.global_tokens=32768"}),
              HasSubstr("one of `global_batch` (sequences) and `global_tokens`"));
  EXPECT_THAT(refusal({"training.global_batch=~", "training.global_tokens=1000"}),
              HasSubstr("not a multiple of the sequence length 1024"));
}

TEST(Experiment, FindsModelsBesideTheFileAndInTheLibrary) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "warploom_experiment_test";
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file(std::string(WARPLOOM_SOURCE_DIR) + "/configs/models/llama3_8b.json", folder / "mine.json",
                             std::filesystem::copy_options::overwrite_existing);
  std::ofstream(folder / "job.yaml") << "use: experiments/llama3_8b_8_h100\nmodel: mine.json\n";
  EXPECT_EQ(Experiment::load((folder / "job.yaml").string()).job().model.layers, 32);
  EXPECT_EQ(small({"model=models/llama3_8b"}).job().model.layers, 32);
  EXPECT_THAT(refusal({"model=models/llama3_8"}), HasSubstr("`model`"));
  std::filesystem::remove_all(folder);
}

TEST(Experiment, RefusesWhatDoesNotGoTogether) {
  EXPECT_THAT(refusal({"training.schedule=interleaved_1f1b", "layout.virtual_stages=2"}),
              HasSubstr("virtual stages need more than one pipeline stage"));
  EXPECT_THAT(refusal({"training.schedule=1f1c"}), HasSubstr("did you mean `1f1b`?"));
  EXPECT_THAT(refusal({"training.padded_vocabulary=1000"}), HasSubstr("less than the model's vocabulary of 128256"));
  EXPECT_THAT(refusal({"training.sequence_length=1023"}), HasSubstr("1023 is not a multiple of the 2 tensor ranks"));
  EXPECT_THAT(refusal({"stragglers=[{device: 8, slow_down: 1.2}]"}), HasSubstr("devices are 0 to 7"));
  EXPECT_THAT(refusal({"stragglers=[{device: 1, slow_down: 1.2}, {device: 1, slow_down: 1.3}]"}),
              HasSubstr("stands twice"));
  EXPECT_THAT(refusal({"layout.context=2", "layout.data=2", "training.attention=unfused"}),
              HasSubstr("context parallelism needs fused attention"));
}

TEST(Experiment, RefusesAbsurdSizesBeforeItCountsThem) {
  EXPECT_THAT(refusal({"training.micro_batch=1000000", "training.sequence_length=100000000",
                       "training.global_batch=1000000000"}),
              HasSubstr("more than any device holds"));
  EXPECT_THAT(refusal({"training.global_batch=1000000"}), HasSubstr("operations, more than the"));
  EXPECT_THAT(refusal({"training.global_batch=100000000"}), HasSubstr("micro-batches are more than"));
}

// ---- Memory -------------------------------------------------------------------------------------------------------

TEST(Experiment, AdvisesChangesThatDoFit) {
  const Overrides too_much = {"training.sequence_length=8192", "training.zero=0", "layout.tensor=1", "layout.data=8"};
  const std::string text = refusal(too_much);
  EXPECT_THAT(text, HasSubstr("does not fit"));
  ASSERT_THAT(text, HasSubstr("any of these alone would fit"));
  ASSERT_THAT(text, HasSubstr("layout.tensor: 4"));
  Overrides advised = too_much;
  advised.insert(advised.end(), {"layout.tensor=4", "layout.data=~"});
  EXPECT_EQ(refusal(advised), "ran");
  advised = too_much;
  advised.emplace_back("allow_oversubscribed_memory=true");
  EXPECT_EQ(refusal(advised), "ran");
  EXPECT_FALSE(small(advised).run().report.fits);
}

// ---- Layout on the network ----------------------------------------------------------------------------------------

// A call on an idle network: the latency of its steps, and its bytes at the rate that its flows reach alone.
Time idle_time(const Machine& machine, const Call& call, const Group& group) {
  Time time;
  for (const auto& step : machine.planner->plan(call, group).steps) {
    Time longest;
    for (const auto& bundle : step.bundles) longest = std::max(longest, bundle.bytes_per_flow / bundle.flow_limit);
    time += step.latency + longest;
  }
  return time;
}

// Two nodes, two stages, eight replicas. Pipeline inside: gradients cross nodes, activations do not; and the other way
// round. With one micro-batch and nothing overlapped the critical path holds one all-reduce and two messages.
TEST(Experiment, SwappingDataAndPipelineMovesTheStepByTheBytesThatChangeLinks) {
  const Overrides base = {"devices=16",
                          "layout.tensor=1",
                          "layout.pipeline=2",
                          "layout.data=8",
                          "training.zero=0",
                          "training.global_batch=8",
                          "training.overlap_gradient_reduce=false",
                          "training.bucket_parameters=1000000000000",
                          "cluster.library.algorithm=ring",  // whose bytes are easily said
                          "allow_oversubscribed_memory=true"};
  const auto with_order = [&](const char* order) {
    Overrides overrides = base;
    overrides.push_back(std::string("layout.order=") + order);
    return small(overrides);
  };
  const Experiment pipeline_inside = with_order("[tensor, context, pipeline, data]");
  const Experiment data_inside = with_order("[tensor, context, data, pipeline]");

  const TrainingJob& job = pipeline_inside.job();
  const auto chunks = chunks_of(job.layout, job.model);
  Call reduce{CollectiveKind::all_reduce, Bytes(4 * stage_parameters(job, chunks, 0)), DataType::fp32};
  Call message{CollectiveKind::send_recv, Bytes(job.tokens_a_micro_batch() * job.model.hidden * 2), DataType::bf16};
  const Call norm{CollectiveKind::all_reduce, Bytes(4), DataType::fp32};
  const auto time = [&](const Call& call, const Stride& members, Rank first = 0) {
    return idle_time(pipeline_inside.machine(), call, Group{{0, {members}}, {{first, {}}}});
  };
  // All-reduce of eight replicas, two apart over both nodes against side by side in one; messages and the gradient norm
  // the other way round.
  const Time expected = time(reduce, {8, 2}) - time(reduce, {8, 1}) + time(message, {2, 1}) - time(message, {2, 8}) +
                        time(message, {2, -1}, 1) - time(message, {2, -8}, 8) + time(norm, {2, 1}) - time(norm, {2, 8});
  const auto sent = [&](const Stride& members) {
    return pipeline_inside.machine()
        .planner->plan(reduce, Group{{0, {members}}, {{0, {}}}})
        .steps.at(0)
        .bundles.at(0)
        .bytes_per_flow;
  };
  EXPECT_NEAR(sent({8, 1}) / reduce.bytes, 2 * 7.0 / 8, 0.01);

  const Time moved = pipeline_inside.run().report.step_time - data_inside.run().report.step_time;
  EXPECT_GT(expected, Time::from_seconds(0.05));  // 28 GB from NVLink to four network cards a node
  EXPECT_NEAR(moved / expected, 1, 1e-6);
}

}  // namespace
}  // namespace warploom
