// SPDX-License-Identifier: Apache-2.0
// What a training step can be told beside its layout: unfused attention, quantised products, overlapped tensor
// parallelism, context parallelism, cut weights, loss scaling. FLOPs, bytes moved and bytes kept are those of the
// formulas.
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "tests/support/training_jobs.hpp"
#include "tests/support/training_programs.hpp"
#include "workloads/memory_formulas.hpp"
#include "workloads/training/gradient_buckets.hpp"

namespace warploom {
namespace {

using testing::all_gemm_flops;
using testing::gemm_flops;
using testing::job_of;
using testing::kept_a_layer;
using testing::small_gpt;
using testing::small_llama;

int rows_named(const Program& program, std::string_view name) {
  int count = 0;
  for (RowId row = 0; row < program.size(); ++row) count += program.names[program.row_name[row]] == name ? 1 : 0;
  return count;
}

// Bytes of calls of role 0 with this cause, by the name of the row (all where it is empty).
std::int64_t bytes_called(const Program& program, Cause cause, std::string_view name = {}) {
  std::int64_t sum = 0;
  for (RowId row = 0; row < program.size(); ++row) {
    if (program.role_of(row) != 0 || program.meeting[row] == none || program.cause[row] != cause) continue;
    if (!name.empty() && program.names[program.row_name[row]] != name) continue;
    sum += program.calls[program.meetings[program.meeting[row]].call].bytes.count();
  }
  return sum;
}

TrainingJob unfused(TrainingJob job) {
  job.training.attention = AttentionKind::unfused;
  return job;
}

// ---- Unfused attention (arXiv:2205.05198) ---------------------------------------------------------------------------

TEST(UnfusedAttention, KeepsFiveAsSquaredBytesMoreThanFlashAttention) {
  TrainingJob job = unfused(job_of(small_gpt(), {1, 1, 1, 1, 1}));
  LayerShape shape{.sequence = 256, .micro_batch = 2, .hidden = 512, .heads = 8};
  for (const std::int64_t tensor : {1, 4}) {
    for (const bool cuts : {false, true}) {
      job.layout.tensor = static_cast<std::int64_t>(shape.tensor = static_cast<double>(tensor));
      job.layout.sequence_parallel = shape.sequence_parallel = cuts;
      job.training.recompute = Recompute::none;
      EXPECT_EQ(static_cast<double>(kept_a_layer(job)), layer_activation_bytes(shape, ActivationMode::none));
      job.training.recompute = Recompute::selective;
      EXPECT_EQ(static_cast<double>(kept_a_layer(job)), layer_activation_bytes(shape, ActivationMode::selective));
    }
  }
}

TEST(UnfusedAttention, MultipliesEveryPairOfPositionsFourTimesForwardAndEightBackward) {
  for (const std::int64_t tensor : {1, 2}) {
    const TrainingJob job = job_of(small_gpt(), {tensor, 1, 1, 1, 2});
    const double pairs = 256.0 * 256 * static_cast<double>(job.training.global_batch);
    const double flash = all_gemm_flops(build_training_step(job));
    EXPECT_DOUBLE_EQ(all_gemm_flops(build_training_step(unfused(job))) - flash, 12 * pairs * 512 * 4);
  }
}

TEST(UnfusedAttention, SelectiveRecomputationRunsItsCoreAndNothingElseAgain) {
  TrainingJob job = unfused(job_of(small_gpt(), {1, 1, 1, 1, 2}));
  job.training.recompute = Recompute::selective;
  const double pairs = 256.0 * 256 * static_cast<double>(job.training.global_batch);
  EXPECT_DOUBLE_EQ(gemm_flops(build_training_step(job), true), 4 * pairs * 512 * 4);
}

TEST(UnfusedAttention, DropsOnlyWithDropout) {
  TrainingJob job = unfused(job_of(small_gpt(), {1, 1, 1, 1, 1}));
  EXPECT_EQ(rows_named(build_training_step(job), "attention_dropout"), 4);
  job.model.has_dropout = false;
  EXPECT_EQ(rows_named(build_training_step(job), "attention_dropout"), 0);
}

// ---- Quantised products ---------------------------------------------------------------------------------------------

TEST(QuantisedProducts, AreThoseOfLayersAndNotTheHeads) {
  TrainingJob job = job_of(small_llama(), {2, 1, 1, 1, 1});
  job.training.types.product = ProductType::fp8;
  const Program program = build_training_step(job);
  int quantised = 0;
  for (RowId row = 0; row < program.size(); ++row) {
    if (program.kernel[row] == none || program.kernels[program.kernel[row]].family != "gemm") continue;
    const bool is_head = program.names[program.row_name[row]].starts_with("head");
    EXPECT_EQ(program.kernels[program.kernel[row]].input, is_head ? DataType::bf16 : DataType::fp8);
    quantised += is_head ? 0 : 1;
  }
  EXPECT_EQ(quantised, 4 * 4 * 3);  // layers, products, forward and two backward
}

TEST(QuantisedProducts, ComputeTheSameAndGatherHalfTheBytes) {
  TrainingJob job = job_of(small_llama(), {2, 1, 1, 1, 1});
  const Program whole = build_training_step(job);
  job.training.types.product = ProductType::fp8;
  const Program quantised = build_training_step(job);
  EXPECT_DOUBLE_EQ(all_gemm_flops(quantised), all_gemm_flops(whole));
  EXPECT_EQ(2 * bytes_called(quantised, Cause::exposed_tp, "mlp_gather"),
            bytes_called(whole, Cause::exposed_tp, "mlp_gather"));
  EXPECT_EQ(bytes_called(quantised, Cause::exposed_tp, "mlp_reduce"),
            bytes_called(whole, Cause::exposed_tp, "mlp_reduce"));
}

TEST(QuantisedProducts, ConvertWhatNoNormMakesAndEveryGradient) {
  TrainingJob job = job_of(small_llama(1), {1, 1, 1, 1, 1});
  job.training.types.product = ProductType::fp8;
  const Program program = build_training_step(job);
  for (const auto name : {"projection_quantise", "mlp_second_quantise", "qkv_gradient_quantise",
                          "projection_gradient_quantise", "mlp_first_gradient_quantise", "mlp_second_gradient_quantise",
                          "qkv_input_transpose", "mlp_first_input_transpose"}) {
    EXPECT_EQ(rows_named(program, name), 1) << name;
  }
}

// ---- Tensor parallelism beside its products -------------------------------------------------------------------------

TEST(OverlappedTensor, MovesAndMultipliesTheSame) {
  TrainingJob job = job_of(small_llama(), {4, 1, 1, 1, 2});
  const Program exposed = build_training_step(job);
  job.training.overlap_tensor = true;
  const Program overlapped = build_training_step(job);
  EXPECT_DOUBLE_EQ(all_gemm_flops(overlapped), all_gemm_flops(exposed));
  EXPECT_EQ(bytes_called(overlapped, Cause::exposed_tp), bytes_called(exposed, Cause::exposed_tp));
}

TEST(OverlappedTensor, TakesNoLongerAndHidesMostOfTheMoves) {
  TrainingJob job = job_of(small_llama(), {4, 1, 1, 1, 2});
  const Machine machine = testing::size_machine();
  const Time exposed = play(build_training_step(job), machine).makespan;
  job.training.overlap_tensor = true;
  EXPECT_LT(play(build_training_step(job), machine).makespan, exposed);
}

// ---- Context parallelism --------------------------------------------------------------------------------------------

TEST(ContextParallelism, SharesCausalScoresEvenly) {
  // Keys that queries see, over all ranks: a causal square, whatever the number of ranks.
  const auto scores = [](std::int64_t context) {
    TrainingJob job = job_of(small_llama(), {1, 1, 1, 1, 1});
    job.layout.context = context;
    const Program program = build_training_step(job);
    double sum = 0;
    for (RowId row = 0; row < program.size(); ++row) {
      const std::string& name = program.names[program.row_name[row]];
      if (name != "attention" && name != "attention_ring") continue;
      const Kernel& kernel = program.kernels[program.kernel[row]];
      sum += static_cast<double>(kernel.size[3] * kernel.size[4]) * (name == "attention" ? 0.5 : 1);
    }
    return sum * static_cast<double>(context);
  };
  EXPECT_EQ(scores(2), scores(1));
  EXPECT_EQ(scores(4), scores(1));
}

TEST(ContextParallelism, PassesKeysAndValuesOnceAroundForwardAndTwiceAsMuchBackward) {
  TrainingJob job = job_of(small_llama(), {1, 1, 1, 1, 1});
  job.layout.context = 4;
  const Program program = build_training_step(job);
  // A rank's keys and values: 2 x (2 x 256 / 4 tokens) x 256 x 2 bytes; a gather of n ranks moves (n - 1)/n of its
  // size.
  const double own = 2.0 * 128 * 256 * 2;
  EXPECT_NEAR(0.75 * static_cast<double>(bytes_called(program, Cause::exposed_cp)), 4 * 3 * own * (1 + 2), 64);
}

TEST(ContextParallelism, LeavesTheProductsOfATokenAlone) {
  TrainingJob job = job_of(small_llama(), {1, 1, 1, 1, 2});
  const double alone = all_gemm_flops(build_training_step(job));
  job.layout.context = 4;
  EXPECT_DOUBLE_EQ(all_gemm_flops(build_training_step(job)), alone);
}

// ---- Cut weights (FSDP) ---------------------------------------------------------------------------------------------

TEST(CutWeights, AreGatheredForwardAndBackwardAndReducedOnceAMicroBatch) {
  TrainingJob job = job_of(small_llama(), {1, 1, 4, 1, 2});
  job.training.zero = 3;
  const Program program = build_training_step(job);
  const std::int64_t parameters = stage_parameters(job, chunks_of(job.layout, job.model), 0);
  EXPECT_EQ(bytes_called(program, Cause::exposed_dp, "parameter_gather"), 2 * 2 * parameters * 2);
  EXPECT_EQ(bytes_called(program, Cause::exposed_dp, "gradient_reduce"), 2 * parameters * 4);
}

TEST(CutWeights, LeaveARankItsShareAndTheUnitsAtWork) {
  TrainingJob job = job_of(small_llama(), {1, 1, 4, 1, 2});
  job.training.zero = 3;
  const Role& role = build_training_step(job).roles[0];
  const auto chunk = chunks_of(job.layout, job.model)[0];
  const std::int64_t parameters = stage_parameters(job, chunks_of(job.layout, job.model), 0);
  const auto units = unit_parameters(job, chunk);
  EXPECT_EQ(role.resident_bytes[static_cast<std::size_t>(MemoryPart::weights)], (parameters + 3) / 4 * 2);
  EXPECT_EQ(role.resident_bytes[static_cast<std::size_t>(MemoryPart::gradients)], (parameters + 3) / 4 * 4);
  EXPECT_EQ(role.resident_bytes[static_cast<std::size_t>(MemoryPart::buffers)],
            2 * 2 * *std::max_element(units.begin(), units.end()));
}

// ---- The loss, and its scale ----------------------------------------------------------------------------------------

TEST(UnfusedLoss, MovesTheLogitsInFp32AKernelAStep) {
  TrainingJob job = job_of(small_llama(), {2, 1, 1, 1, 1});
  EXPECT_EQ(rows_named(build_training_step(job), "loss_exponential"), 0);
  job.training.loss = LossKind::unfused;
  const Program program = build_training_step(job);
  for (const auto name : {"loss_copy", "loss_subtract", "loss_exponential", "loss_divide", "loss_copy_backward"}) {
    EXPECT_EQ(rows_named(program, name), 1) << name;
  }
}

TEST(LossScaling, UnscalesAndLooksForOverflowInFp16Only) {
  TrainingJob job = job_of(small_gpt(), {1, 1, 1, 1, 1});
  EXPECT_EQ(rows_named(build_training_step(job), "gradient_unscale"), 0);
  job.training.types.compute = TrainingType::fp16;
  EXPECT_EQ(rows_named(build_training_step(job), "gradient_unscale"), 1);
}

TEST(Training, GivesBackAllThatTheNewPartsTake) {
  for (int i = 0; i < 6; ++i) {
    TrainingJob job = job_of(i % 2 == 0 ? small_gpt() : small_llama(), {2, 2, 2, 1, 2});
    if (i < 2) job = unfused(job);
    if (i % 3 == 1) job.training.recompute = Recompute::selective;
    job.training.types.product = i >= 2 ? ProductType::fp8 : ProductType::compute;
    job.training.overlap_tensor = i > 3;
    job.layout.context = i >= 2 ? 2 : 1;
    job.training.zero = i == 4 ? 3 : 1;
    const Program program = build_training_step(job);
    std::vector<std::int64_t> held(program.roles.size(), 0);
    for (RowId row = 0; row < program.size(); ++row) {
      for (const auto& delta : program.memory_deltas(row)) held[program.role_of(row)] += delta.bytes;
    }
    for (const auto bytes : held) EXPECT_EQ(bytes, 0) << "case " << i;
    EXPECT_GT(play(program, testing::size_machine()).makespan, Time::zero());
  }
}

}  // namespace
}  // namespace warploom
