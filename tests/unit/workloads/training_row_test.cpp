// SPDX-License-Identifier: Apache-2.0
// Rows of published training steps to jobs: what is published is taken as it is, what is left open is every setting
// that can run, and what is not modelled is refused with its reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/core/errors.hpp"
#include "workloads/validation/training_row.hpp"

namespace warploom {
namespace {

using ::testing::HasSubstr;

TrainingRow gpt_row() {
  TrainingRow row;
  row.task = "pretrain";
  row.hardware = "A100-80GB";
  row.framework = "Megatron-LM";
  row.model = "GPT 175B";
  row.precision = "fp16";
  row.devices = 64;
  row.layers = 96;
  row.hidden = 12288;
  row.heads = 96;
  row.vocab = 51200;
  row.sequence_length = 2048;
  row.global_batch = 64;
  row.micro_batch = 1;
  row.tensor = row.pipeline = 8;
  row.virtual_stages = 3;
  row.data = 1;
  return row;
}

std::string reason_of(const TrainingRow& row) {
  try {
    training_cases(row);
  } catch (const UserError& error) {
    return error.message();
  }
  return "";
}

TEST(TrainingRow, PublishedInFullIsOneStep) {
  const TrainingCases cases = training_cases(gpt_row());
  ASSERT_EQ(cases.jobs.size(), 1u);
  const TrainingJob& job = cases.jobs[0];
  EXPECT_EQ(cases.machine.device, "a100_sxm");
  EXPECT_EQ(job.micro_batches(), 64);
  EXPECT_EQ(job.model.ffn, 4 * 12288);
  EXPECT_TRUE(job.model.has_dropout);
  EXPECT_NEAR(static_cast<double>(job.model.parameters()), 175e9, 1e9);
}

TEST(TrainingRow, OfMegatronIn2022RunsUnfusedAttentionWithLossScaling) {
  const TrainingJob job = training_cases(gpt_row()).jobs[0];
  EXPECT_EQ(job.training.attention, AttentionKind::unfused);
  EXPECT_EQ(job.training.types.compute, TrainingType::fp16);
  EXPECT_FALSE(job.training.overlap_gradient_reduce);
}

TEST(TrainingRow, OfNemoRunsQuantisedWithOverlappedTensorParallelism) {
  TrainingRow row = gpt_row();
  row.hardware = "H100-80GB SXM (DGX-H100)";
  row.framework = "NeMo/Megatron-Core";
  row.precision = "fp8";
  const TrainingCases cases = training_cases(row);
  EXPECT_EQ(cases.machine.cluster, "clusters/dgx_h100");
  EXPECT_EQ(cases.jobs[0].training.types.product, ProductType::fp8);
  EXPECT_EQ(cases.jobs[0].training.attention, AttentionKind::flash);
  EXPECT_TRUE(cases.jobs[0].training.overlap_tensor);
  EXPECT_EQ(cases.jobs[0].training.zero, 1);
}

TEST(TrainingRow, LeavesOpenWhatIsNotPublished) {
  TrainingRow row = gpt_row();
  row.micro_batch.reset();
  row.virtual_stages.reset();
  const TrainingCases cases = training_cases(row);
  EXPECT_GT(cases.jobs.size(), 4u);
  for (const auto& job : cases.jobs) {
    EXPECT_EQ(job.training.global_batch % (job.training.micro_batch * job.data()), 0);
    EXPECT_EQ(job.model.layers % (job.layout.pipeline * job.layout.virtual_stages), 0);
    EXPECT_TRUE(job.layout.virtual_stages == 1 || job.micro_batches() % 8 == 0);
  }
}

TEST(TrainingRow, SaysWhyItIsSkipped) {
  TrainingRow row = gpt_row();
  row.experts = 8;
  EXPECT_THAT(reason_of(row), HasSubstr("mixture of experts"));
  row = gpt_row();
  row.task = "LoRA finetune";
  EXPECT_THAT(reason_of(row), HasSubstr("LoRA"));
  row = gpt_row();
  row.schedule = "ZB-2p";
  EXPECT_THAT(reason_of(row), HasSubstr("schedule"));
  row = gpt_row();
  row.hardware = "TPU-v5p";
  EXPECT_THAT(reason_of(row), HasSubstr("no cluster is described for `TPU-v5p`"));
  row = gpt_row();
  row.layers.reset();
  EXPECT_THAT(reason_of(row), HasSubstr("the number of layers is not published"));
  row = gpt_row();
  row.framework = "home-made";
  EXPECT_THAT(reason_of(row), HasSubstr("framework"));
  row = gpt_row();
  row.global_batch = 63;
  EXPECT_NE(reason_of(row), "");
}

TEST(TrainingRow, WithBlankCellsOnlyIsRefusedNotMisread) { EXPECT_NE(reason_of(TrainingRow{}), ""); }

}  // namespace
}  // namespace warploom
